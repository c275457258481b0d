"""SGLang 0.5.23's "Prefill batch" and "Decode batch" lines, and the window between two of them.

A decode line is due every `interval` decode steps and reports the steps since the line before;
its throughput spreads their tokens over all the time since, idle time included. `accept len` counts
before the cut at a stop or the length limit, as 0.5.23 does. DDTREE lines carry three more fields:
`accepted depth` before the cut, `commit len` after it, `tree nodes` without the root.

Source: sglang/srt/managers/scheduler_components/metrics_reporter.py (0.5.23).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ddbench.engine.server_log import log
from ddbench.engine.settings import DraftSettings
from ddbench.engine.steps import StepOutcome


@dataclass(frozen=True, slots=True)
class Occupancy:
    """What stands beside the numbers of a window."""

    running: int
    queued: int
    used_tokens: int
    total_tokens: int

    @property
    def usage(self) -> float:
        return self.used_tokens / self.total_tokens


@dataclass(frozen=True, slots=True)
class Means:
    """What a decode line says of its window. The drafting ones are 0 where nothing is drafted."""

    throughput_per_s: float
    accept_length: float = 0.0  # before the cut
    accept_rate: float = 0.0
    accepted_depth: float = 0.0  # before the cut
    commit_length: float = 0.0  # after it
    tree_nodes: float = 0.0
    graph: bool = False


@dataclass(slots=True)
class _Window:
    """Sums since the last decode line; steps are request-steps."""

    steps: int = 0
    correct_drafts: int = 0
    tokens: int = 0  # before the cut
    committed: int = 0  # after it
    nodes: int = 0


class BatchLog:
    """Written from the scheduler's thread alone; the totals are read from others."""

    def __init__(
        self,
        interval: int,
        draft: DraftSettings | None,
        *,
        alter: Callable[[Means], Means] | None = None,
        tokens_kept_by_flush: Callable[[int], int] | None = None,
    ) -> None:
        self.gen_throughput_per_s = 0.0
        self.accept_length = 0.0
        self.accept_rate = 0.0
        self._interval = interval
        self._draft = draft
        self._alter = alter
        self._tokens_kept_by_flush = tokens_kept_by_flush
        self._window = _Window()
        self._decode_steps = 0
        self._total_tokens = 0
        self._total_steps = 0
        self._last_decode_s = time.perf_counter()
        self._last_prefill_s = self._last_decode_s

    @property
    def average_accept_length(self) -> float | None:
        """Over all finished windows since the last reset; None before the first, or undrafted."""
        if self._draft is None or self._total_steps == 0:
            return None
        return self._total_tokens / self._total_steps

    def reset(self) -> None:
        """Forget the lifetime mean and start a new window, as SGLang does on /flush_cache."""
        kept = self._tokens_kept_by_flush
        self._total_tokens = 0 if kept is None else kept(self._total_tokens)
        self._total_steps = self._decode_steps = 0
        self._window = _Window()

    def prefill(
        self, occupancy: Occupancy, *, new_requests: int, new_tokens: int, pending_tokens: int
    ) -> None:
        now_s = time.perf_counter()
        rate = new_tokens / (now_s - self._last_prefill_s)
        self._last_prefill_s = now_s
        log(
            f"Prefill batch, #new-seq: {new_requests}, #new-token: {new_tokens}, #cached-token: 0, "
            f"token usage: {occupancy.usage:.2f}, #running-req: {occupancy.running}, "
            f"#queue-req: {occupancy.queued}, #pending-token: {pending_tokens}, cpu graph: False, "
            f"input throughput (token/s): {rate:.2f}"
        )

    def count(self, outcomes: Sequence[StepOutcome], committed: Sequence[int]) -> None:
        """Add one decode step; committed: tokens appended, one number a request."""
        window = self._window
        window.steps += len(outcomes)
        window.correct_drafts += sum(len(outcome.accepted) for outcome in outcomes)
        window.tokens += sum(len(outcome.tokens) for outcome in outcomes)
        window.committed += sum(committed)
        window.nodes += sum(outcome.tree.parents.numel() - 1 for outcome in outcomes)
        self._decode_steps += 1

    @property
    def decode_is_due(self) -> bool:
        return self._decode_steps % self._interval == 0

    def decode(self, occupancy: Occupancy) -> None:
        """Write the line of the window that ends now, and start the next one."""
        now_s = time.perf_counter()
        window, self._window = self._window, _Window()
        means = self._means(window, now_s - self._last_decode_s)
        if self._alter is not None:
            means = self._alter(means)
        self._last_decode_s = now_s
        self.gen_throughput_per_s = means.throughput_per_s
        self.accept_length, self.accept_rate = means.accept_length, means.accept_rate
        log(
            f"Decode batch, #running-req: {occupancy.running}, #token: {occupancy.used_tokens}, "
            f"token usage: {occupancy.usage:.2f}, {self._drafting(means)}cpu graph: {means.graph}, "
            f"gen throughput (token/s): {means.throughput_per_s:.2f}, "
            f"#queue-req: {occupancy.queued}"
        )

    def _means(self, window: _Window, elapsed_s: float) -> Means:
        throughput_per_s = window.tokens / elapsed_s
        if self._draft is None:
            return Means(throughput_per_s)
        self._total_tokens += window.tokens
        self._total_steps += window.steps
        proposed = window.steps * (self._draft.verify_width - 1)
        return Means(
            throughput_per_s,
            accept_length=window.tokens / window.steps,
            accept_rate=window.correct_drafts / proposed,
            accepted_depth=window.correct_drafts / window.steps,
            commit_length=window.committed / window.steps,
            tree_nodes=window.nodes / window.steps,
        )

    def _drafting(self, means: Means) -> str:
        if self._draft is None:
            return ""
        fields = f"accept len: {means.accept_length:.2f}, accept rate: {means.accept_rate:.2f}, "
        if self._draft.algorithm == "DDTREE":
            fields += (
                f"accepted depth: {means.accepted_depth:.2f}, "
                f"commit len: {means.commit_length:.2f}, "
                f"tree nodes: {means.tree_nodes:.2f}, "
            )
        return fields
