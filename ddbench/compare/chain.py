"""A tree with one candidate a depth is the linear draft: is it, here?"""

from dataclasses import dataclass

from ddbench.compare.answers import Agreement, agreement
from ddbench.compare.arms import ComparedArm
from ddbench.compare.pairing import tokens_per_step_ratio
from ddbench.compare.verdicts import MARGIN, TEST_CONFIDENCE, is_known
from ddbench.records import RequestCompleted
from ddbench.stats.equivalence import Equivalence, equivalent_within
from ddbench.stats.interval import Interval


@dataclass(frozen=True, slots=True)
class ChainEquivalence:
    """A chain-shaped tree against the linear arm at one concurrency.

    ratio: of tokens per step, with the 90 % interval that the test at the 5 % level looks at.
    test: None where there are too few prompts for one. same_steps of `answers.compared` prompts
    took the same number of verify steps with the same numbers accepted; None for sampled answers.
    """

    linear: str
    chain: str
    concurrency: int
    ratio: Interval | None
    test: Equivalence | None
    answers: Agreement | None
    same_steps: int | None

    @property
    def identical(self) -> bool | None:
        """Every answer the same tokens by the same steps; None where that was not compared."""
        if self.answers is None or not self.answers.compared or self.same_steps is None:
            return None
        return self.answers.identical == self.same_steps == self.answers.compared

    @property
    def sentence(self) -> str:
        return f"{self._by_test}; {self._by_tokens}"

    @property
    def _by_test(self) -> str:
        if self.test is None:
            n = 0 if self.ratio is None else self.ratio.n
            return f"equivalence in tokens/step cannot be tested with {n} prompts"
        if self.test.equivalent:
            return f"equivalent within {MARGIN:.0%} in tokens/step"
        return (
            f"not shown to be equivalent within {MARGIN:.0%} in tokens/step: it would take a "
            f"margin of {self.test.least_margin:.1%}"
        )

    @property
    def _by_tokens(self) -> str:
        if self.answers is None or self.same_steps is None:
            return "sampled answers are not compared token by token"
        if not self.answers.compared:
            return "the server gave no token ids to compare"
        compared = self.answers.compared
        return (
            f"identical tokens in {self.answers.identical} and identical steps in "
            f"{self.same_steps} of {compared} prompts"
        )


def chain_equivalence(
    linear: ComparedArm, chain: ComparedArm, concurrency: int
) -> ChainEquivalence:
    """Two one-sided tests of tokens per step within 1 %, and the tokens themselves."""
    mine, theirs = linear.at(concurrency), chain.at(concurrency)
    ratio = tokens_per_step_ratio(mine, theirs, confidence=TEST_CONFIDENCE)
    greedy = mine[0].trial.load.temperature == 0.0
    return ChainEquivalence(
        linear=linear.name,
        chain=chain.name,
        concurrency=concurrency,
        ratio=ratio,
        test=equivalent_within(ratio, MARGIN) if is_known(ratio) else None,
        answers=agreement(mine, theirs) if greedy else None,
        same_steps=_same_steps(mine[0].completed, theirs[0].completed) if greedy else None,
    )


def _same_steps(first: tuple[RequestCompleted, ...], second: tuple[RequestCompleted, ...]) -> int:
    others = {r.prompt_id: r for r in second}
    return sum(
        r.verify_ct == other.verify_ct and r.histogram == other.histogram
        for r in first
        if (other := others.get(r.prompt_id)) is not None and r.output_ids and other.output_ids
    )
