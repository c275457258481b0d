"""The life of the server process: load, bind, say so, serve, stop."""

import asyncio
import signal
import socket
import threading
from dataclasses import replace

from aiohttp import web

from ddbench.engine.arguments import EngineArguments
from ddbench.engine.http.application import application
from ddbench.engine.http.information import server_args
from ddbench.engine.http.serving import Serving
from ddbench.engine.http.tickets import TicketOffice
from ddbench.engine.loading import Engine, load_engine
from ddbench.engine.parent_watch import end_with_parent
from ddbench.engine.server_log import log
from ddbench.errors import EngineError

SHUTDOWN_S = 0.5


def serve(arguments: EngineArguments) -> int:
    """Run until SIGTERM or SIGINT (0), or until the model's thread has failed (1).

    Raises DdbenchError when the server cannot start.
    """
    end_with_parent()
    listener = _bind(arguments)
    arguments = replace(arguments, port=listener.getsockname()[1])
    engine = load_engine(arguments)
    log(f"server_args={server_args(engine)}")
    settings = engine.settings
    log(
        f"max_total_num_tokens={settings.max_total_tokens}, "
        f"chunked_prefill_size={settings.chunked_prefill_size}, "
        f"max_running_requests={settings.max_running_requests}, "
        f"context_len={settings.context_length}"
    )
    with asyncio.Runner(loop_factory=_loop) as runner:
        return runner.run(_serve(engine, listener))


def _loop() -> asyncio.AbstractEventLoop:
    import uvloop

    return uvloop.new_event_loop()


def _bind(arguments: EngineArguments) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((arguments.host, arguments.port))
    except OSError as cause:
        raise EngineError(
            f"{arguments.host}:{arguments.port} cannot be bound: {cause.strerror}",
            remedy="Stop what listens there, or give another --port.",
        ) from cause
    return listener


async def _serve(engine: Engine, listener: socket.socket) -> int:
    loop = asyncio.get_running_loop()
    office = TicketOffice(engine.scheduler, loop)
    stop = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stop.set)

    def run_model() -> None:
        # A failure ends this thread; threading prints it, and the process ends with code 1.
        try:
            engine.scheduler.run(office.announce)
        finally:
            loop.call_soon_threadsafe(stop.set)

    model = threading.Thread(target=run_model, name="model", daemon=True)
    # Without handler_cancellation a client that goes away would leave its request running.
    runner = web.AppRunner(
        application(Serving(engine, office)), handler_cancellation=True, access_log=None
    )
    await runner.setup()
    await web.SockSite(runner, listener, shutdown_timeout=SHUTDOWN_S).start()
    model.start()
    log(f"INFO:     Listening on http://{engine.arguments.host}:{engine.arguments.port}")
    log("The server is fired up and ready to roll!")

    await stop.wait()
    failed = not model.is_alive()
    log("INFO:     Shutting down")
    engine.scheduler.stop()
    await runner.cleanup()
    model.join(SHUTDOWN_S)
    for file in (engine.trace, engine.recorder):
        if file is not None:
            file.close()
    return 1 if failed else 0
