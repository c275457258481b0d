"""Engines for the tests: in this process for what is computed, as processes for what is said."""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest

from ddbench.engine.arguments import parse_arguments
from ddbench.engine.generation import Generation, GenerationRequest, Sampling
from ddbench.engine.loading import Engine, load_engine
from ddbench.engine.scheduler import Progress
from ddbench.load.prompts import read_prompts

MODEL = ("--model-path", "builtin")
DRAFTER = ("--speculative-draft-model-path", "builtin")
LINEAR = ("--speculative-algorithm", "DFLASH", *DRAFTER)
START_TIMEOUT_S = 60.0


def tree(budget: int, topk: int) -> tuple[str, ...]:
    sizes = ("--speculative-ddtree-budget", str(budget), "--speculative-ddtree-topk", str(topk))
    return ("--speculative-algorithm", "DDTREE", *DRAFTER, *sizes)


ARMS = {
    "autoregressive": (),
    "linear": LINEAR,
    "chain": tree(7, 1),
    "small tree": tree(7, 4),
    "tree": tree(31, 4),
    "wide tree": tree(63, 8),
    "mask dropped": (*tree(31, 4), "--fault", "mask-dropped"),
    "kv not moved": (*tree(31, 4), "--fault", "kv-not-moved"),
}


class Seen(NamedTuple):
    generation: Generation
    tokens: int
    at_s: float


class Lab:
    """An engine whose scheduler runs in a thread of this process, without HTTP."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.progress: list[Seen] = []
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=engine.scheduler.run, args=(self._listen,))
        self._thread.start()

    def _listen(self, progress: list[Progress]) -> None:
        with self._changed:
            self.progress += [Seen(p.generation, p.tokens, time.time()) for p in progress]
            self._changed.notify_all()

    def submit(self, *requests: GenerationRequest) -> list[Generation]:
        generations = [Generation(request, time.time()) for request in requests]
        for generation in generations:
            self.engine.scheduler.submit(generation)
        return generations

    def wait_until(self, condition: Callable[[], bool], timeout_s: float = 60.0) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, timeout_s), "the engine did not get there"

    def answers(self, requests: Sequence[GenerationRequest]) -> list[Generation]:
        """All at once, as far as the engine has slots."""
        generations = self.submit(*requests)
        self.wait_until(lambda: all(g.finish is not None for g in generations))
        return generations

    def close(self) -> None:
        self.engine.scheduler.stop()
        self._thread.join(10)
        assert not self._thread.is_alive()
        if self.engine.trace is not None:
            self.engine.trace.close()


@pytest.fixture(scope="session")
def flags_of() -> dict[str, tuple[str, ...]]:
    return ARMS


@pytest.fixture(scope="session")
def new_lab() -> Callable[..., Lab]:
    """new_lab(*flags): an engine of one's own; close it."""
    return lambda *flags: Lab(load_engine(parse_arguments([*MODEL, *flags])))


@pytest.fixture(scope="session")
def lab(new_lab: Callable[..., Lab]) -> Iterator[Callable[[str], Lab]]:
    """lab(arm): the engine of one of ARMS, one for the session."""
    labs: dict[str, Lab] = {}

    def lend(arm: str) -> Lab:
        if arm not in labs:
            labs[arm] = new_lab(*ARMS[arm])
        return labs[arm]

    yield lend

    for each in labs.values():
        each.close()


@pytest.fixture(scope="session")
def prompts(lab: Callable[[str], Lab]) -> list[tuple[int, ...]]:
    """Held-out prompts of every domain, as token ids."""
    tokenizer = lab("autoregressive").engine.tokenizer
    return [tuple(tokenizer.encode(p.text)) for p in read_prompts("builtin:mixed", 10)]


@pytest.fixture(scope="session")
def ask() -> Callable[..., GenerationRequest]:
    """ask(prompt, ...): one request; what is not named here goes to Sampling."""

    def make(
        prompt: Sequence[int],
        *,
        logprobs: bool = True,
        streaming: bool = False,
        max_new_tokens: int = 48,
        **sampling: Any,
    ) -> GenerationRequest:
        return GenerationRequest(
            rid=uuid4().hex,
            prompt_ids=tuple(prompt),
            sampling=Sampling(max_new_tokens, **sampling),
            logprobs=logprobs,
            streaming=streaming,
        )

    return make


@dataclass(frozen=True)
class RunningEngine:
    url: str
    process: subprocess.Popen[bytes]
    log_path: Path

    @property
    def log(self) -> str:
        return self.log_path.read_text()


Launch = Callable[..., AbstractContextManager[RunningEngine]]


@pytest.fixture(scope="session")
def launch(tmp_path_factory: pytest.TempPathFactory) -> Launch:
    """launch(*flags): a context manager around a real server process on a free port."""

    @contextmanager
    def start(*flags: str) -> Iterator[RunningEngine]:
        log_path = tmp_path_factory.mktemp("engine") / "server.log"
        argv = [sys.executable, "-m", "ddbench.engine", *MODEL, "--port", "0", *flags]
        with log_path.open("wb") as log:
            process = subprocess.Popen(argv, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield RunningEngine(_url_when_ready(process, log_path), process, log_path)
        finally:
            process.kill()
            process.wait()

    return start


def _url_when_ready(process: "subprocess.Popen[bytes]", log_path: Path) -> str:
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline_s:
        log = log_path.read_text()
        if "The server is fired up and ready to roll!" in log:
            found = re.search(r"Listening on (\S+)", log)
            assert found
            return found[1]
        assert process.poll() is None, log
        time.sleep(0.05)
    raise AssertionError(f"not ready after {START_TIMEOUT_S} s:\n{log_path.read_text()}")


@pytest.fixture(scope="session")
def autoregressive(launch: Launch) -> Iterator[RunningEngine]:
    flags = ("--enable-metrics", "--decode-log-interval", "4", "--max-running-requests", "4")
    with launch(*flags) as engine:
        yield engine


@pytest.fixture(scope="session")
def linear(launch: Launch) -> Iterator[RunningEngine]:
    with launch(*LINEAR, "--enable-metrics", "--decode-log-interval", "1") as engine:
        yield engine


@pytest.fixture(scope="session")
def trace_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trace") / "steps.jsonl"


@pytest.fixture(scope="session")
def ddtree(launch: Launch, trace_path: Path) -> Iterator[RunningEngine]:
    trace = ("--step-trace", os.fspath(trace_path))
    with launch(*tree(31, 4), *trace, "--enable-metrics", "--decode-log-interval", "1") as engine:
        yield engine
