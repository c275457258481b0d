"""From predicted steps and measured step times to tokens a second, and to one recommendation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ddbench.errors import NotComparable
from ddbench.plan.drafting import largest_tree
from ddbench.predict.acceptance import Acceptance, acceptance
from ddbench.predict.recorded import RecordedArm
from ddbench.predict.replay import Counts, Grid
from ddbench.predict.step_time import Cell, Cost, NotPredicted, tree_cost
from ddbench.records import Speculation
from ddbench.stats.interval import Interval
from ddbench.stats.ratio import paired_ratio, pooled_ratio
from ddbench.stats.service_level import Limit

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One setting at one concurrency. timed: the arm that measured its step time, if one did.

    tpot_s: mean over answers of the time a token after the first.
    """

    concurrency: int
    speculation: Speculation
    timed: str | None
    cost: Cost
    steps: Counts  # (prompts,)
    tokens_per_s: float
    tpot_s: float
    cut_share: float  # of its steps, in which unrecorded ranks might have mattered


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """A candidate with intervals over prompts; the step time's own error is not in them."""

    candidate: Candidate
    tokens_per_step: Interval
    tokens_per_s: Interval
    over_linear: Interval | None  # tok/s; None where no linear arm was timed


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A timed tree cell, predicted from the others. predicted is None at the ends of the widths."""

    cell: Cell
    predicted_tokens_per_s: float | None

    @property
    def error(self) -> float | None:
        """Relative to what was measured."""
        if self.predicted_tokens_per_s is None:
            return None
        return self.predicted_tokens_per_s / self.cell.tokens_per_s - 1.0


class Forecaster:
    """What a run can say of settings that it did not run. cells: see measured_cells."""

    def __init__(self, recorded: RecordedArm, grid: Acceptance, cells: Sequence[Cell]) -> None:
        self.recorded = recorded
        self.acceptance = grid
        self.cells = list(cells)
        self._prompts = [prompt.prompt_id for prompt in recorded.prompts]
        self._tokens: Counts = np.array([len(prompt.output_ids) for prompt in recorded.prompts])
        self._linear_steps = acceptance(
            recorded.prompts, Grid((1,), (recorded.depth,))
        ).verify_steps[:, 0, 0]

    @property
    def decoded_tokens(self) -> int:
        """Of all answers, without the first of each, which is no step's."""
        return int((self._tokens - 1).sum())

    @property
    def concurrencies(self) -> list[int]:
        return sorted({cell.concurrency for cell in self.cells})

    def candidates(self, concurrency: int) -> list[Candidate]:
        """Every setting that can be predicted at `concurrency`, the fastest first."""
        found = [*self._timed_without_trees(concurrency), *self._trees(concurrency)]
        return sorted(found, key=lambda candidate: -candidate.tokens_per_s)

    def refusals(self, concurrency: int) -> dict[str, int]:
        """Why settings of the grid cannot be predicted there -> how many."""
        refused: dict[str, int] = {}
        for budget, _ in self.trees():
            cost = tree_cost(self.cells, concurrency, budget + 1)
            if isinstance(cost, NotPredicted):
                refused[cost.why] = refused.get(cost.why, 0) + 1
        return refused

    def forecast(self, candidate: Candidate) -> Forecast:
        linear = next(
            (c for c in self._timed_without_trees(candidate.concurrency) if _is_linear(c)), None
        )
        own = (self._tokens * candidate.cost.occupancy, self._seconds(candidate), self._prompts)
        decoded = self._tokens - 1
        return Forecast(
            candidate=candidate,
            tokens_per_step=pooled_ratio(decoded, candidate.steps, self._prompts),
            tokens_per_s=pooled_ratio(*own),
            over_linear=None
            if linear is None
            else paired_ratio(
                own, (self._tokens * linear.cost.occupancy, self._seconds(linear), self._prompts)
            ),
        )

    def tree_per_step(self, budget: int, topk: int) -> Interval:
        """Tokens a step of one tree of the grid."""
        steps = self.acceptance.steps(budget, topk)
        return pooled_ratio(self._tokens - 1, steps, self._prompts)

    def linear_per_step(self) -> Interval:
        return pooled_ratio(self._tokens - 1, self._linear_steps, self._prompts)

    def held_out(self) -> list[HeldOut]:
        """Each timed tree cell, predicted without the cells of its width and concurrency."""
        return [self._held_out(cell) for cell in self.cells if cell.speculation.budget is not None]

    def _held_out(self, cell: Cell) -> HeldOut:
        here = (cell.concurrency, cell.width)
        others = [c for c in self.cells if (c.concurrency, c.width) != here]
        cost = tree_cost(others, cell.concurrency, cell.width)
        if isinstance(cost, NotPredicted):
            return HeldOut(cell, None)
        assert cell.speculation.budget is not None
        assert cell.speculation.topk is not None
        own = Grid((cell.speculation.topk,), (cell.speculation.budget,))
        steps = acceptance(self.recorded.prompts, own).verify_steps[:, 0, 0]
        return HeldOut(cell, self._tokens_per_s(steps, cost))

    def trees(self) -> Iterator[tuple[int, int]]:
        """(budget, topk) of every tree in the grid that can be filled."""
        for topk in self.acceptance.grid.topks:
            most = largest_tree(topk, depth=self.recorded.depth)
            yield from ((b, topk) for b in self.acceptance.grid.budgets if b <= most)

    def _trees(self, concurrency: int) -> Iterator[Candidate]:
        timed = {
            (cell.speculation.budget, cell.speculation.topk): cell
            for cell in self.cells
            if cell.concurrency == concurrency and cell.speculation.budget is not None
        }
        for budget, topk in self.trees():
            cell = timed.get((budget, topk))
            cost = cell.cost if cell else tree_cost(self.cells, concurrency, budget + 1)
            if isinstance(cost, NotPredicted):
                continue
            yield self._candidate(
                concurrency,
                Speculation("DDTREE", self.recorded.depth + 1, budget, topk),
                cell.arm if cell else None,
                cost,
                self.acceptance.steps(budget, topk),
                self.acceptance.cut_share(budget, topk),
            )

    def _timed_without_trees(self, concurrency: int) -> Iterator[Candidate]:
        """The linear and the autoregressive arm: only what was timed itself is known."""
        for cell in self.cells:
            if cell.concurrency != concurrency or cell.speculation.budget is not None:
                continue
            drafts = cell.speculation.algorithm is not None
            steps = self._linear_steps if drafts else self._tokens - 1
            yield self._candidate(
                concurrency, cell.speculation, cell.arm, cell.cost, steps, cut_share=0.0
            )

    def _candidate(
        self,
        concurrency: int,
        speculation: Speculation,
        timed: str | None,
        cost: Cost,
        steps: Counts,
        cut_share: float,
    ) -> Candidate:
        return Candidate(
            concurrency=concurrency,
            speculation=speculation,
            timed=timed,
            cost=cost,
            steps=steps,
            tokens_per_s=self._tokens_per_s(steps, cost),
            tpot_s=cost.step_s * self._steps_a_token(steps),
            cut_share=cut_share,
        )

    def _tokens_per_s(self, steps: Counts, cost: Cost) -> float:
        seconds = cost.first_token_s * steps.size + cost.step_s * float(steps.sum())
        return float(self._tokens.sum()) * cost.occupancy / seconds

    def _steps_a_token(self, steps: Counts) -> float:
        """Mean over answers of more than one token, as a measured time a token is."""
        long = self._tokens > 1
        return float((steps[long] / (self._tokens[long] - 1)).mean()) if long.any() else 0.0

    def _seconds(self, candidate: Candidate) -> Floats:
        """(prompts,) from send to the last token."""
        cost = candidate.cost
        seconds: Floats = candidate.steps * np.float64(cost.step_s) + cost.first_token_s
        return seconds


def recommended(candidates: Sequence[Candidate], limits: Sequence[Limit] = ()) -> Candidate | None:
    """The fastest of `candidates`, of those that keep every limit; they come fastest first.

    Args:
        limits: as require_predictable lets them through.
    """
    return next((c for c in candidates if all(_keeps(c, limit) for limit in limits)), None)


def require_predictable(limits: Sequence[Limit]) -> None:
    """Raises NotComparable for a limit of anything but the mean tpot_s or ttft_s."""
    for limit in limits:
        if limit.share is not None or limit.metric not in ("tpot_s", "ttft_s"):
            raise NotComparable(
                f"{limit} cannot be predicted: only the means of tpot_s and ttft_s are",
                remedy="Limit those, or measure it: `ddbench compare linear-vs-tree RUN --slo`.",
            )


def _keeps(candidate: Candidate, limit: Limit) -> bool:
    own_s = candidate.tpot_s if limit.metric == "tpot_s" else candidate.cost.first_token_s
    return own_s < limit.below_s


def _is_linear(candidate: Candidate) -> bool:
    speculation = candidate.speculation
    return speculation.algorithm is not None and speculation.budget is None
