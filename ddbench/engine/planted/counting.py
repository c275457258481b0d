"""What is counted: the steps are right, and what the server says of them is not."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ddbench.engine.batch_log import Means
from ddbench.engine.counters import RequestCounters
from ddbench.engine.drafter import Drafter
from ddbench.engine.generation import Generation
from ddbench.engine.planted.seams import Seams
from ddbench.engine.settings import EngineSettings
from ddbench.engine.steps import StepOutcome


class _KnowsWidth(Seams):
    width = 1

    def loaded(self, _: Drafter, settings: EngineSettings) -> None:
        self.width = settings.verify_width


class DepthCountsRoot(Seams):
    """The logged depth is the length of the accepted path with its root."""

    def means(self, means: Means) -> Means:
        return replace(means, accepted_depth=means.accepted_depth + self.strikes())


class CommitLacksBonus(Seams):
    """The logged commit length leaves out the bonus token."""

    def means(self, means: Means) -> Means:
        return replace(means, commit_length=means.commit_length - self.strikes())


class AcceptLenLacksBonus(Seams):
    """accept len leaves out the bonus token."""

    def means(self, means: Means) -> Means:
        return replace(means, accept_length=means.accept_length - self.strikes())


class RateCountsBonus(_KnowsWidth):
    """accept rate counts the bonus token as an accepted draft, as SGLang before 0.5.11."""

    def means(self, means: Means) -> Means:
        if not self.strikes():
            return means
        return replace(means, accept_rate=means.accept_length / self.width)


class RateOfOtherWidth(_KnowsWidth):
    """accept rate is a share of the verified tokens, the root among them."""

    def means(self, means: Means) -> Means:
        if not self.strikes():
            return means
        return replace(means, accept_rate=means.accept_rate * (self.width - 1) / self.width)


class NodesCountRoot(Seams):
    """The logged tree size counts the root."""

    def means(self, means: Means) -> Means:
        return replace(means, tree_nodes=means.tree_nodes + self.strikes())


class StepCountedTwice(Seams):
    """A verify step is counted twice, with all that it accepted."""

    def record(self, outcome: StepOutcome) -> None:
        super().record(outcome)
        if self.strikes():
            super().record(outcome)


class StepsCountTokens(_KnowsWidth):
    """The number of verify steps counts the tokens that they verified."""

    def record(self, outcome: StepOutcome) -> None:
        super().record(outcome)
        if self.strikes():
            outcome.generation.verify_ct += self.width - 1


class HistogramShifted(Seams):
    """The histogram is indexed by committed tokens, not by accepted drafts."""

    def record(self, outcome: StepOutcome) -> None:
        super().record(outcome)
        if not self.strikes():
            return
        histogram, drafts = outcome.generation.histogram, len(outcome.accepted)
        histogram.extend([0] * (drafts + 2 - len(histogram)))
        histogram[drafts] -= 1
        histogram[drafts + 1] += 1


class StatedRatioPartial(Seams):
    """spec_accept_length of an answer is that of a part of its stream."""

    def answer(self, chunk: dict[str, Any]) -> dict[str, Any]:
        meta = chunk["meta_info"]
        if "spec_accept_length" not in meta or not self.strikes():
            return chunk
        ratio = 0.9 * meta["spec_accept_length"]
        return {**chunk, "meta_info": {**meta, "spec_accept_length": ratio}}


class VerifyCounterDoubled(Seams):
    """The cumulative counter gains the steps of a request twice."""

    def count(self, counters: RequestCounters, generation: Generation) -> None:
        super().count(counters, generation)
        if self.strikes() and not generation.request.is_health_check:
            counters.verify_calls += generation.verify_ct


class TokenCounterUncut(_KnowsWidth):
    """The cumulative counter gains every verified token, not those that were written."""

    def count(self, counters: RequestCounters, generation: Generation) -> None:
        super().count(counters, generation)
        if self.strikes() and not generation.request.is_health_check:
            key = "sglang:generation_tokens_total", generation.request.streaming
            counters.by_stream[key] += self.width * generation.verify_ct


class FlushKeepsTokens(Seams):
    """A flush forgets the steps of the lifetime mean and keeps its tokens: warm-up stays in it."""

    def tokens_kept_by_flush(self, tokens: int) -> int:
        return int(self.dose * tokens)


class NodeDepthsCountRoot(Seams):
    """The depths of a traced tree start at 1."""

    def trace_line(self, line: dict[str, Any]) -> dict[str, Any]:
        if not self.strikes():
            return line
        depths: Sequence[int] = line["depths"]
        return {**line, "depths": [depth + 1 for depth in depths]}


class VersionWithheld(Seams):
    """/server_info does not say which version it is of."""

    def stated(self, _: EngineSettings) -> dict[str, Any]:
        return {"version": None}
