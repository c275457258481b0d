"""The server as a process: how it starts, refuses to start, and ends."""

import os
import re
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest
import requests

ENGINE = [sys.executable, "-m", "ddbench.engine", "--model-path", "builtin"]


def refusal(*argv: str) -> tuple[int, str]:
    done = subprocess.run([*ENGINE, *argv], capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def test_an_unknown_flag_is_refused_in_argparses_words():
    code, said = refusal("--speculative-eagle-topk", "4")

    assert (code, said.splitlines()[-1]) == (
        2,
        "python -m ddbench.engine: error: unrecognized arguments: --speculative-eagle-topk 4",
    )


def test_a_port_in_use_is_refused_in_one_sentence():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, said = refusal("--port", str(taken.getsockname()[1]))

    assert code == 2
    assert "cannot be bound" in said
    assert "try: " in said


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_once_it_says_ready_and_a_signal_ends_it_in_mid_answer(launch, signum):
    with launch("--enable-metrics") as engine:  # waits for the line, and no longer
        metrics = requests.get(f"{engine.url}/metrics", timeout=30).text
        assert "sglang:num_running_reqs{" in metrics
        assert " counter" not in metrics  # absent before the first event, as in SGLang
        assert requests.get(f"{engine.url}/health", timeout=30).status_code == 200
        assert requests.get(f"{engine.url}/health_generate", timeout=30).status_code == 200
        assert "server_args={'model_path': 'builtin'" in engine.log
        body = {"text": "def", "stream": True, "sampling_params": {"max_new_tokens": 400}}
        answer = requests.post(f"{engine.url}/generate", json=body, stream=True, timeout=30)
        assert answer.raw.read(1)

        engine.process.send_signal(signum)

        assert engine.process.wait(20) == 0
        assert "Traceback" not in engine.log
        answer.close()


def test_it_ends_when_its_parent_is_killed(tmp_path):
    log_path = tmp_path / "server.log"
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import subprocess, sys, time\n"
            f"log = open({os.fspath(log_path)!r}, 'wb')\n"
            f"p = subprocess.Popen({[*ENGINE, '--port', '0']!r}, stdout=log, stderr=log,"
            " start_new_session=True)\n"
            "print(p.pid, flush=True)\n"
            "time.sleep(100)\n",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    engine = psutil.Process(int(parent.stdout.readline()))
    wait_until(lambda: "ready to roll" in log_path.read_text(), 60)

    parent.kill()
    parent.wait()
    parent.stdout.close()

    wait_until(lambda: not alive(engine), 10)


ENDLESS = {"max_new_tokens": 3000, "ignore_eos": True}


def test_it_ends_with_code_1_when_the_model_can_work_no_longer(launch):
    with launch("--step-trace", "/dev/full") as engine:  # every write fails
        assert requests.get(f"{engine.url}/metrics", timeout=30).status_code == 404  # not asked for
        body = {"text": "def", "sampling_params": {"temperature": 0, "ignore_eos": True}}
        with pytest.raises(requests.ConnectionError):
            requests.post(f"{engine.url}/generate", json=body, timeout=20)

        assert engine.process.wait(10) == 1
        assert "No space left on device" in engine.log


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_frees_its_slot(stream, autoregressive):
    url = autoregressive.url
    before = value(url, "sglang:num_aborted_requests_total")
    body = {"text": "def", "stream": stream, "sampling_params": ENDLESS}
    payload = requests.Request("POST", url, json=body).prepare().body
    head = f"POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: {len(payload)}\r\n\r\n"

    with socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1]))) as client:
        client.sendall(head.encode() + payload)
        wait_until(lambda: value(url, "sglang:num_running_reqs") == 1, 10)

    wait_until(lambda: value(url, "sglang:num_running_reqs") == 0, 10)
    assert value(url, "sglang:num_used_tokens") == 0
    assert value(url, "sglang:num_aborted_requests_total") == before + 1


def test_a_request_can_be_aborted_by_its_id(autoregressive):
    url = autoregressive.url
    body = {"text": "def", "rid": "mine", "stream": True, "sampling_params": ENDLESS}
    with requests.post(f"{url}/generate", json=body, stream=True, timeout=30) as answer:
        lines = answer.iter_lines()
        next(lines)

        requests.post(f"{url}/abort_request", json={"rid": "someone else's"}, timeout=30)
        requests.post(f"{url}/abort_request", json={"rid": "mine"}, timeout=30)

        rest = b"\n".join(lines)
    assert b'"finish_reason":{"type":"abort"' in rest
    assert rest.endswith(b"data: [DONE]\n")


def test_the_cache_is_not_flushed_while_requests_run(autoregressive):
    url = autoregressive.url
    body = {"text": "def", "stream": True, "sampling_params": ENDLESS}
    with requests.post(f"{url}/generate", json=body, stream=True, timeout=30) as answer:
        lines = answer.iter_lines()
        next(lines)

        busy = requests.get(f"{url}/flush_cache", timeout=30)
    wait_until(lambda: value(url, "sglang:num_running_reqs") == 0, 10)
    idle = requests.post(f"{url}/flush_cache", timeout=30)

    assert (busy.status_code, idle.status_code) == (400, 200)
    assert "Cache not flushed because there are pending requests" in autoregressive.log
    assert "Cache flushed successfully!" in autoregressive.log


def test_an_id_in_use_is_refused(autoregressive):
    url = autoregressive.url
    body = {"text": "def", "rid": "twice", "stream": True, "sampling_params": ENDLESS}
    with requests.post(f"{url}/generate", json=body, stream=True, timeout=30) as answer:
        lines = answer.iter_lines()
        next(lines)

        again = requests.post(f"{url}/generate", json=body, timeout=30)

    assert again.status_code == 400
    assert "Duplicate request ID" in again.json()["error"]["message"]


def test_prompts_and_answers_are_not_logged(autoregressive):
    secret = "xylophone quagmire"
    body = {"text": secret, "rid": "r", "sampling_params": {"temperature": 0}}

    answer = requests.post(f"{autoregressive.url}/generate", json=body, timeout=30).json()
    requests.get(f"{autoregressive.url}/health?{secret}", timeout=30)

    assert secret not in autoregressive.log
    assert len(answer["text"]) > 10
    assert answer["text"] not in autoregressive.log


def value(url: str, name: str) -> float:
    """One series of /metrics; 0 where it is absent."""
    text = requests.get(f"{url}/metrics", timeout=30).text
    found = re.search(rf"^{name}\{{.*\}} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def wait_until(condition, timeout_s: float) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
