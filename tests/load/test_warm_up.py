"""A server whose speed is known warms up as fast as it is told to."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ddbench.load.warm_up import warm_up
from ddbench.records import LoadConfig, Prompt

PROMPTS = [Prompt(f"p{n}", "Say it.") for n in range(4)]
LOAD = LoadConfig("x", count=4, concurrency=1, max_new_tokens=64, timeout_s=5.0)


@pytest.fixture
def serve():
    """Starts a server that takes so long for each request, in turn; the last time stays."""
    running = []

    def start(*seconds, status=200):
        left, asked = list(seconds), []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                asked.append(tokens := body["sampling_params"]["max_new_tokens"])
                time.sleep(left.pop(0) if len(left) > 1 else left[0])
                meta = {"finish_reason": {"type": "length"}, "prompt_tokens": 1}
                event = {"text": "x", "meta_info": meta | {"completion_tokens": tokens}}
                answer = f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n".encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        running.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}", asked

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()


def test_it_goes_on_while_the_server_gets_faster(serve):
    url, asked = serve(1.6, 0.8, 0.4, 0.4)

    warmed = warm_up(url, PROMPTS, LOAD)

    assert warmed.is_steady
    assert len(warmed.rates) >= 3
    assert warmed.rates[0] == pytest.approx(16 / 1.6, rel=0.3)
    assert set(asked) == {16}  # a few tokens each, not the load's own number


def test_a_round_like_the_last_trials_is_enough(serve):
    url, asked = serve(0.5)
    known = warm_up(url, PROMPTS, LOAD).rates[-1]
    asked.clear()

    warmed = warm_up(url, PROMPTS, LOAD, known_rate=known)

    assert warmed.is_steady
    assert len(asked) <= 2


def test_a_server_that_refuses_everything_is_left_after_one_round(serve):
    url, asked = serve(0.0, status=503)

    warmed = warm_up(url, PROMPTS, LOAD)

    assert len(asked) == 1
    assert not warmed.is_steady
    assert "503" in warmed.refusals[0]
