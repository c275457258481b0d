"""A server in SGLang's place, quick to start, that has bad manners: $RUDE names them.

A sweep file gets it by `PYTHONPATH`, as it would get any other build. It speaks just enough of
SGLang's HTTP, and says every number of tokens that a request asks for.
"""

import argparse
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from sglang.srt.server_args import ServerArgs

MANNERS = set(os.environ.get("RUDE", "").split(","))
WORKER = """
import os, signal, sys, time
if sys.argv[2] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(sys.argv[1], "a") as pids:
    pids.write(f"{os.getpid()}\\n")
time.sleep(600)
"""
DECODE = (
    "[2026-11-30 06:29:29] Decode batch, #running-req: {running}, #token: 39, token usage: 0.00, "
    "accept len: 2.50, accept rate: 0.21, cpu graph: False, gen throughput (token/s): 123.45, "
    "#queue-req: 0"
)

parser = argparse.ArgumentParser()
ServerArgs.add_cli_args(parser)
args = parser.parse_args()
running = 0
generated = 0


def main() -> None:
    if "ignore-sigterm" in MANNERS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for manner, temper in (("fork", "mild"), ("fork-stubborn", "stubborn")):
        if manner in MANNERS:  # a worker in a session of its own
            pids = os.environ["RUDE_PIDS"]
            with Path(pids).open("a") as file:
                file.write(f"{os.getpid()}\n")
            worker = [sys.executable, "-I", "-S", "-c", WORKER, pids, temper]
            subprocess.Popen(worker, start_new_session=True)
    print("Load weight end.\n" * 20, end="", flush=True)
    while "waits-for-go" in MANNERS and not Path(os.environ["RUDE_PIDS"]).with_name("go").exists():
        time.sleep(0.02)
    if "hang-at-start" in MANNERS:
        print("Load weight begin.", flush=True)
        time.sleep(600)
    if "out-of-memory" in MANNERS:
        sys.exit("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    if "chatty" in MANNERS:
        threading.Thread(target=chat, daemon=True).start()
    door = socket.create_server((args.host, int(args.port)), backlog=256)
    while True:
        connection, _ = door.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


def chat() -> None:
    """10,000 lines a second, in 100 pieces."""
    piece = f"{DECODE.format(running=1)}\n" * 100
    while True:
        print(piece, end="", flush=True)
        time.sleep(0.01)


def serve(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        with connection, connection.makefile("rb") as stream:
            while request := read_request(stream):
                answer(connection, *request)
    except OSError:
        return  # the client has gone


def read_request(stream) -> tuple[str, bytes] | None:
    first = stream.readline()
    if not first:
        return None
    length = 0
    while (line := stream.readline()).strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return first.split()[1].decode(), stream.read(length)


def answer(connection: socket.socket, route: str, body: bytes) -> None:
    if "mute" in MANNERS:
        time.sleep(600)
    if route == "/generate":
        generate(connection, json.loads(body))
    elif route == "/server_info":
        info = {"model_path": args.model_path, "version": "0.5.23", "max_running_requests": 64}
        slowly(connection, json.dumps(info).encode())
    elif route == "/metrics":
        whole(connection, f"sglang:generation_tokens_total {generated}\n".encode())
    else:
        whole(connection, b"ok")


def whole(connection: socket.socket, body: bytes) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)


def slowly(connection: socket.socket, body: bytes) -> None:
    if "slow-info" not in MANNERS:
        return whole(connection, body)
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body))
    for byte in body:
        time.sleep(1.0)
        connection.sendall(bytes([byte]))


def generate(connection: socket.socket, request: dict) -> None:
    global running, generated
    asked = request["sampling_params"]["max_new_tokens"]
    if "never-answers" in MANNERS:
        time.sleep(600)
    if "resets" in MANNERS:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        raise OSError
    running += 1
    connection.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    for tokens in range(1, asked + 1):
        event = payload(tokens, asked)
        if "half-event" in MANNERS and tokens == asked:
            event = event[: len(event) // 2]
        connection.sendall(b"%x\r\n%s\r\n" % (len(event), event))
        if "dies-mid-stream" in MANNERS and tokens == 2:
            os._exit(1)
        time.sleep(3.0 if "trickles" in MANNERS else float(os.environ.get("RUDE_STEP_S", "0")))
    connection.sendall(b"0\r\n\r\n")
    print(DECODE.format(running=running), flush=True)
    running -= 1
    generated += asked
    if "rotates-log" in MANNERS:
        rotate(lambda log: log.rename(f"{log}.1"))
    if "truncates-log" in MANNERS:
        rotate(lambda log: os.truncate(log, 0))


def payload(tokens: int, asked: int) -> bytes:
    if "invalid-json" in MANNERS and tokens == asked:
        return b"data: {'text': \n\n"
    meta = {
        "finish_reason": {"type": "length", "length": asked} if tokens == asked else None,
        "prompt_tokens": 3,
        "completion_tokens": tokens,
        "cached_tokens": 0,
        "num_retractions": 0,
    }
    if "nan" in MANNERS:
        meta["completion_tokens"] = float("nan")
    if "wrong-meta" in MANNERS:
        meta["completion_tokens"] = "many"
    event = {"text": "x" * tokens, "output_ids": list(range(tokens)), "meta_info": meta}
    if "no-meta" in MANNERS:
        del event["meta_info"]
    return b"data: %s\n\n" % json.dumps(event).encode()


def rotate(how) -> None:
    log = Path("/proc/self/fd/1").readlink()
    if log.suffix == ".log":
        how(log)


main()
