"""Routes, the log line of each request, and SGLang's two ways to say 400."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from ddbench.engine.http.chat import chat_completions
from ddbench.engine.http.completions import completions
from ddbench.engine.http.generate import generate
from ddbench.engine.http.information import (
    abort_request,
    flush_cache,
    health,
    metrics,
    model_info,
    models,
    server_info,
)
from ddbench.engine.http.serving import SERVING, Serving, json_answer
from ddbench.engine.server_log import log
from ddbench.errors import RequestRefused

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
MOST_BODY_BYTES = 64 * 1024 * 1024


def application(serving: Serving) -> web.Application:
    app = web.Application(middlewares=[_answer_errors], client_max_size=MOST_BODY_BYTES)
    app[SERVING] = serving
    for path, method, handler in (
        ("/generate", "POST", generate),
        ("/generate", "PUT", generate),
        ("/v1/completions", "POST", completions),
        ("/v1/chat/completions", "POST", chat_completions),
        ("/v1/models", "GET", models),
        ("/health", "GET", health),
        ("/health_generate", "GET", health),
        ("/model_info", "GET", model_info),
        ("/get_model_info", "GET", model_info),
        ("/server_info", "GET", server_info),
        ("/get_server_info", "GET", server_info),
        ("/flush_cache", "GET", flush_cache),
        ("/flush_cache", "POST", flush_cache),
        ("/abort_request", "POST", abort_request),
    ):
        app.router.add_route(method, path, handler)
    if serving.engine.arguments.enable_metrics:
        app.router.add_get("/metrics", metrics)
    app.on_response_prepare.append(_log_access)
    return app


@web.middleware
async def _answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except RequestRefused as refused:
        message = f"{str(refused).rstrip('.')}. {refused.remedy}"
        if request.path.startswith("/v1/"):
            return json_answer(
                {
                    "object": "error",
                    "message": message,
                    "type": "BadRequestError",
                    "param": None,
                    "code": 400,
                },
                status=400,
            )
        return json_answer({"error": {"message": message}}, status=400)
    except web.HTTPException as error:
        if error.status < 400:
            raise
        return json_answer({"detail": error.reason}, status=error.status)


async def _log_access(request: web.Request, response: web.StreamResponse) -> None:
    """uvicorn's access line; the path without its query, which is the client's text."""
    peer = request.transport.get_extra_info("peername") if request.transport else None
    host, port = (peer or ("?", 0))[:2]
    version = f"{request.version.major}.{request.version.minor}"
    log(
        f'INFO:     {host}:{port} - "{request.method} {request.path} HTTP/{version}" '
        f"{response.status} {response.reason}"
    )
