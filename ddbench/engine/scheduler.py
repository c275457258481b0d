"""Which request runs when: continuous batching, in one thread that owns the model.

A request waits until a slot and room for all of its tokens are free, so that none is ever put back
(retractions are always 0). Waiting prompts are read before the next decode step; one that is longer
than the chunk size is read in pieces, with a decode step of the running requests after each.

Nothing is kept of a finished request: there is no prefix cache, and cached_tokens is always 0.
"""

import heapq
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import torch

from ddbench.engine.batch_log import BatchLog, Occupancy
from ddbench.engine.commit import StopRules, commit
from ddbench.engine.counters import RequestCounters
from ddbench.engine.generation import Finish, Generation
from ddbench.engine.planted.seams import Seams
from ddbench.engine.prefill import Prefill
from ddbench.engine.server_log import log
from ddbench.engine.settings import EngineSettings
from ddbench.engine.step_trace import StepTrace
from ddbench.engine.steps import Step


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a request stood after a step: its first `tokens` tokens are there to be sent."""

    generation: Generation
    tokens: int
    finish: Finish | None


Listener = Callable[[list[Progress]], None]


class Scheduler:
    """submit, abort and flush may be called from any thread; everything else runs in `run`'s."""

    def __init__(
        self,
        settings: EngineSettings,
        prefill: Prefill,
        step: Step,
        rules: StopRules,
        batch_log: BatchLog,
        counters: RequestCounters,
        trace: StepTrace | None,
        seams: Seams | None = None,
    ) -> None:
        self._settings = settings
        self._prefill = prefill
        self._step = step
        self._rules = rules
        self._log = batch_log
        self._counters = counters
        self._trace = trace
        self._seams = seams or Seams()
        self._seeds = torch.Generator().manual_seed(settings.random_seed)
        self._commands: deque[Callable[[], None]] = deque()
        self._wake = threading.Event()
        self._stopping = False
        self._listener: Listener | None = None
        self._waiting: deque[Generation] = deque()
        self._reading: list[Generation] = []  # holds a slot, prompt not read to its end
        self._running: list[Generation] = []  # in the order of their slots
        self._free_slots = list(range(self._seams.slots(settings.max_running_requests)))  # a heap
        self._reserved_tokens = 0
        self.stepped_s = time.time()

    # ------------------------------------------------------------ from any thread

    def submit(self, generation: Generation) -> None:
        generation.request = self._seams.request(generation.request)
        self._command(lambda: self._waiting.append(generation))

    def abort(self, generation: Generation) -> None:
        """Stop working on it; a finished one is left as it is."""
        self._command(lambda: self._abort(generation))

    def flush(self) -> "Future[bool]":
        """Start counting afresh. False, and nothing is done, while any request is in work."""
        done: Future[bool] = Future()
        self._command(lambda: done.set_result(self._flush()))
        return done

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()

    @property
    def occupancy(self) -> Occupancy:
        """A snapshot; from another thread it may be a step old."""
        return self._occupancy(len(self._running))

    @property
    def is_idle(self) -> bool:
        return not (self._waiting or self._reading or self._running or self._commands)

    # ------------------------------------------------------------ in the model's thread

    def run(self, listener: Listener) -> None:
        """Work until `stop`; listener gets what each step brought, from this thread."""
        self._listener = listener
        with torch.inference_mode():
            while not self._stopping:
                self._turn()

    def _turn(self) -> None:
        """Take what came in, then at most one prefill and one decode step; sleep when idle."""
        while self._commands:
            self._commands.popleft()()
        if not (self._waiting or self._reading or self._running):
            self._wake.wait()
            self._wake.clear()
            return
        self._admit()
        if self._reading:
            self._read_prompts()
        if self._running:
            self._decode()
        self.stepped_s = time.time()

    def _command(self, command: Callable[[], None]) -> None:
        self._commands.append(command)
        self._wake.set()

    def _admit(self) -> None:
        while self._waiting and self._free_slots:
            tokens = self._tokens_of(self._waiting[0])
            if self._reserved_tokens + tokens > self._settings.max_total_tokens:
                return
            generation = self._waiting.popleft()
            self._reserved_tokens += tokens
            generation.slot = heapq.heappop(self._free_slots)
            sampling = generation.request.sampling
            if sampling.temperature > 0:
                seed = sampling.seed
                if seed is None:
                    seed = int(torch.randint(2**62, (), generator=self._seeds))
                generation.generator = torch.Generator().manual_seed(seed % 2**64)
            self._reading.append(generation)

    def _tokens_of(self, generation: Generation) -> int:
        """Rows it may come to need; requests that could never fit were refused before."""
        return generation.prompt_len + generation.request.sampling.max_new_tokens

    def _read_prompts(self) -> None:
        batch = self._prefill.pick(self._reading)
        running = len(self._running)
        new = sum(generation.prefix_len == 0 for generation in batch)
        outcome = self._prefill.run(batch)
        self._log.prefill(
            self._occupancy(running),
            new_requests=new,
            new_tokens=outcome.new_tokens,
            pending_tokens=sum(g.prompt_len - g.prefix_len for g in self._reading),
        )
        self._reading = [g for g in self._reading if not g.is_prefilled]
        done = []
        for generation, token in outcome.first_tokens:
            commit(generation, [token], self._rules)
            done.append(generation)
        # A new list, in the order of slots: other threads may be reading the old one, and the
        # cache hands out rows of neighbouring slots without copying them.
        self._running = sorted((*self._running, *done), key=lambda g: g.slot or 0)
        self._tell(self._settle(done))

    def _decode(self) -> None:
        batch = self._running
        self._seams.before_step(batch)
        outcomes = [self._seams.outcome(outcome) for outcome in self._step.run(batch)]
        committed = []
        for outcome in outcomes:
            generation = outcome.generation
            generation.steps += 1
            if self._settings.draft is not None:
                self._seams.record(outcome)
            committed.append(self._seams.commit(generation, outcome.tokens, self._rules))
        if self._trace is not None:
            self._trace.write(outcomes, committed)
        self._log.count(outcomes, committed)
        progress = self._settle(batch)
        if self._log.decode_is_due:
            self._log.decode(self._occupancy(len(batch)))
        self._tell(progress)  # last: who has an answer finds its steps in the log

    def _settle(self, stepped: Sequence[Generation]) -> list[Progress]:
        """Let go of what is finished; return what the listener is to be told."""
        progress = []
        finished = False
        for generation in stepped:
            finish = generation.finish
            if finish is not None:
                finished = True
                self._release(generation)
            if finish is not None or generation.request.streaming:
                progress.append(Progress(generation, len(generation.output_ids), finish))
        if finished:
            self._running = [g for g in self._running if g.finish is None]
        return progress

    def _release(self, generation: Generation) -> None:
        if generation.slot is not None:
            heapq.heappush(self._free_slots, generation.slot)
            generation.slot = None
            self._reserved_tokens -= self._tokens_of(generation)
        # What a cut answer lacks of its logged probabilities was never part of it.
        del generation.output_logprobs[len(generation.output_ids) :]
        del generation.output_top_logprobs[len(generation.output_ids) :]
        self._seams.count(self._counters, generation)

    def _abort(self, generation: Generation) -> None:
        if generation.finish is not None:
            return
        if generation in self._waiting:
            self._waiting.remove(generation)
        self._reading = [g for g in self._reading if g is not generation]
        self._running = [g for g in self._running if g is not generation]
        generation.end(Finish("abort", message="Request aborted"))
        self._release(generation)
        self._tell([Progress(generation, len(generation.output_ids), generation.finish)])

    def _tell(self, progress: list[Progress]) -> None:
        if progress and self._listener is not None:
            self._listener(progress)

    def _flush(self) -> bool:
        if self._waiting or self._reading or self._running:
            log(
                "Cache not flushed because there are pending requests. "
                f"#queue-req: {len(self._waiting)}, "
                f"#running-req: {len(self._running) + len(self._reading)}"
            )
            return False
        self._log.reset()
        log("Cache flushed successfully!")
        return True

    def _occupancy(self, running: int) -> Occupancy:
        return self._seams.occupancy(
            Occupancy(
                running=running,
                queued=len(self._waiting),
                used_tokens=sum(g.prefix_len for g in (*self._reading, *self._running)),
                total_tokens=self._settings.max_total_tokens,
            )
        )
