"""A server process with bad manners. Speaks just enough of SGLang's HTTP to be waited for."""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--model-path", default="our-model")
parser.add_argument("--ignore-sigterm", action="store_true")
parser.add_argument("--exit-with", type=int)
parser.add_argument("--hang-at-start", action="store_true")
parser.add_argument("--unhealthy", action="store_true")
parser.add_argument("--bind-after", type=float, default=0.0)
parser.add_argument("--die-after", type=float)
parser.add_argument("--fork", action="store_true", help="a worker in our process group")
parser.add_argument("--fork-session", action="store_true", help="a worker in its own session")
parser.add_argument("--fork-orphan", action="store_true", help="such a worker, its parent gone")
parser.add_argument("--fork-nameless", action="store_true", help="an orphan without variables")
parser.add_argument("--talk", action="store_true", help="a log line for each request")
parser.add_argument("--grow-after", type=float, help="take all the memory that there is")
parser.add_argument("--pid-file", help="where workers write their pids, one a line")
args = parser.parse_args()

WORKER = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(sys.argv[1], "a") as pids:
    pids.write(f"{os.getpid()}\\n")
time.sleep(600)
"""
ORPHAN_MAKER = """
import json, subprocess, sys
worker, pid_file, how = sys.argv[1:]
subprocess.Popen([sys.executable, "-c", worker, pid_file], **json.loads(how))
"""


def leave_an_orphan(**how: object) -> None:
    maker = [sys.executable, "-c", ORPHAN_MAKER, WORKER, args.pid_file, json.dumps(how)]
    subprocess.run(maker, check=True)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if args.talk:
            print("asked for", self.path, flush=True)
        self.answer(503 if args.unhealthy else 200)

    def answer(self, status: int) -> None:
        body = json.dumps({"model_path": args.model_path}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


if args.ignore_sigterm:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
worker = [sys.executable, "-c", WORKER, args.pid_file or os.devnull]
if args.fork:
    subprocess.Popen(worker)
if args.fork_session:
    subprocess.Popen(worker, start_new_session=True)
if args.fork_orphan:
    leave_an_orphan(start_new_session=True)
if args.fork_nameless:
    leave_an_orphan(env={})
if args.exit_with is not None:
    print("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", flush=True)
    sys.exit(args.exit_with)
if args.hang_at_start:
    print("loading weights", flush=True)
    time.sleep(600)
time.sleep(args.bind_after)


def grow() -> None:
    time.sleep(args.grow_after)
    taken = []
    while True:
        taken.append(b"x" * (1 << 22))


server = ThreadingHTTPServer(("127.0.0.1", args.port), Handler)
if args.grow_after is not None:
    threading.Thread(target=grow, daemon=True).start()
if args.die_after is not None:
    signal.signal(signal.SIGALRM, lambda *_: os._exit(9))
    signal.setitimer(signal.ITIMER_REAL, args.die_after)
server.serve_forever()
