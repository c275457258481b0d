"""Trees against the linear draft: every question of the comparison, answered on one page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ddbench.compare.acceptance import (
    BudgetStep,
    Depth,
    Group,
    budget_steps,
    by_category,
    by_prompt_length,
    survival,
)
from ddbench.compare.arms import ComparedArm, linear_arm, tree_arms
from ddbench.compare.chain import ChainEquivalence, chain_equivalence
from ddbench.compare.conditions import Difference
from ddbench.compare.crossover import Crossover, Point, crossover
from ddbench.compare.drift import Drift, drift
from ddbench.compare.gate import UNLIKE, differences, require_comparable, trouble_at
from ddbench.compare.graphs import GraphFactor, graph_factors
from ddbench.compare.lossless import Losslessness, losslessness
from ddbench.compare.pairing import Ratios, ratios, shared_concurrencies, throughput_ratios
from ddbench.compare.verdicts import TEST_CONFIDENCE, Verdict, detectable_sentence, verdict
from ddbench.compare.why import Decomposition, decompose
from ddbench.errors import NotComparable

LOWER_WINS = frozenset({"tpot"})
JUDGED = ("tokens_per_step", "tokens_per_s", "request_rate", "tpot")


@dataclass(frozen=True, slots=True)
class Cell:
    """One tree against the linear arm at one concurrency. Ratios: tree over linear.

    why: in words where the factors cannot be had. troubles: why this cell would have been refused,
    had it not been forced.
    """

    concurrency: int
    ratios: Ratios
    verdicts: Mapping[str, Verdict]
    detectable: Mapping[str, str]
    why: Decomposition | str
    linear_survival: tuple[Depth, ...]
    tree_survival: tuple[Depth, ...]
    categories: tuple[Group, ...]
    prompt_lengths: tuple[Group, ...]
    troubles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """One tree against the linear arm. forced: what would have refused it.

    refused: concurrency -> why it was left out. crossover: None without any cell.
    """

    linear: str
    tree: str
    runs: tuple[str, str]  # of the linear arm and of the tree
    labels: tuple[Difference, ...]
    unknown: tuple[str, ...]
    forced: tuple[Difference, ...]
    cells: tuple[Cell, ...]
    refused: Mapping[int, tuple[str, ...]]
    crossover: Crossover | None
    chain: tuple[ChainEquivalence, ...]

    def label_of(self, cell: Cell) -> str | None:
        """What must stand beside every number of `cell`."""
        return UNLIKE if self.forced or cell.troubles else None

    @property
    def label(self) -> str | None:
        """What must stand beside what is told from all cells together."""
        return next((label for cell in self.cells if (label := self.label_of(cell))), None)


@dataclass(frozen=True, slots=True)
class LinearVsTree:
    """refused: tree -> why it was not compared. budgets: by concurrency.

    visits: that both arms of a pair have; of the pair that has the fewest. drift: None where every
    arm was measured in one visit.
    """

    runs: tuple[str, ...]
    engines: tuple[str, ...]
    visits: int
    pairs: tuple[Pair, ...]
    refused: Mapping[str, str]
    losslessness: tuple[Losslessness, ...]
    budgets: Mapping[int, tuple[BudgetStep, ...]]
    graphs: tuple[GraphFactor, ...]
    drift: Drift | None = None

    def measured(self) -> dict[tuple[str, int], Ratios]:
        """(tree, concurrency) -> its ratios over the linear arm."""
        return {(p.tree, c.concurrency): c.ratios for p in self.pairs for c in p.cells}

    def left_out(self) -> list[tuple[str, int | None]]:
        """Tree and concurrency that were refused; None: the tree as a whole."""
        cells: list[tuple[str, int | None]] = [(p.tree, c) for p in self.pairs for c in p.refused]
        return [*cells, *((tree, None) for tree in self.refused)]


def compare_linear_with_trees(
    linear_side: Sequence[ComparedArm],
    tree_side: Sequence[ComparedArm],
    *,
    linear: str | None = None,
    tree: str | None = None,
    force: bool = False,
) -> LinearVsTree:
    """Every tree of one run against the linear arm of the same or another one.

    Raises NotComparable where nothing may be compared, naming all that differs.
    """
    trees = tree_arms(tree_side, tree)
    pairs: list[Pair] = []
    compared: list[tuple[ComparedArm, ComparedArm]] = []
    refused: dict[str, str] = {}
    remedies: list[str] = []
    for other in trees:
        line = linear_arm(linear_side, linear, beside=other)
        try:
            pairs.append(_pair(line, other, force=force))
            compared.append((line, other))
        except NotComparable as error:
            refused[other.name] = str(error)
            remedies.append(error.remedy)
    if not pairs:
        raise NotComparable("\n".join(refused.values()), remedy=remedies[0])
    everyone = list({(a.run, a.name): a for a in (*linear_side, *tree_side)}.values())
    at = sorted({cell.concurrency for pair in pairs for cell in pair.cells})
    return LinearVsTree(
        runs=tuple(dict.fromkeys(arm.run for arm in everyone)),
        engines=tuple(dict.fromkeys(arm.server.engine for arm in everyone)),
        visits=min(_visits(*arms) for arms in compared),
        pairs=tuple(pairs),
        refused=refused,
        losslessness=tuple(losslessness(everyone)),
        budgets={c: steps for c in at if (steps := tuple(budget_steps(trees, c)))},
        graphs=tuple(graph_factors(everyone)),
        drift=drift(everyone),
    )


def _pair(line: ComparedArm, tree: ComparedArm, *, force: bool) -> Pair:
    if line is tree:
        raise NotComparable(
            f"{line.name} was to be compared with itself",
            remedy="Name another arm with --linear or --tree.",
        )
    found = differences(line, tree) if force else require_comparable(line, tree)
    shared = shared_concurrencies(line, tree)
    troubles = {c: _troubles(line, tree, c) for c in shared}
    usable = [c for c in shared if force or not troubles[c]]
    if not usable:
        raise NotComparable(_nothing_shared(line, tree, troubles), remedy=_MEASURE_AGAIN)
    cells = tuple(_cell(line, tree, c, troubles[c]) for c in usable)
    points = [
        Point(c, ratio, throughput_ratios(line.at(c), tree.at(c)))
        for c, ratio in ((cell.concurrency, cell.ratios.tokens_per_s) for cell in cells)
        if ratio is not None
    ]
    return Pair(
        linear=line.name,
        tree=tree.name,
        runs=(line.run, tree.run),
        labels=found.labels,
        unknown=found.unknown,
        forced=found.refused,
        cells=cells,
        refused={c: troubles[c] for c in shared if c not in usable},
        crossover=crossover(points) if points else None,
        chain=tuple(chain_equivalence(line, tree, c) for c in usable) if tree.is_chain else (),
    )


def _visits(line: ComparedArm, tree: ComparedArm) -> int:
    mine, theirs = ({trial.trial.visit for trial in arm.trials} for arm in (line, tree))
    return len(mine & theirs)


_MEASURE_AGAIN = "Measure both arms at one concurrency that the server allows, with no failures."


def _troubles(line: ComparedArm, tree: ComparedArm, concurrency: int) -> tuple[str, ...]:
    return tuple(
        f"{arm.name}: {trouble}"
        for arm in (line, tree)
        for trouble in trouble_at(concurrency, arm.at(concurrency))
    )


def _nothing_shared(
    line: ComparedArm, tree: ComparedArm, troubles: Mapping[int, tuple[str, ...]]
) -> str:
    for arm in (line, tree):
        if not arm.concurrencies:
            return f"{arm.name} ran in an open loop, which asks for no concurrency to pair at"
    if not troubles:
        return (
            f"{line.name} ran at concurrency {line.concurrencies} and {tree.name} at "
            f"{tree.concurrencies}: none is shared"
        )
    lines = [f"  at {c}: {trouble}" for c, found in troubles.items() for trouble in found]
    return "\n".join([f"{line.name} and {tree.name} are not comparable", *lines])


def _cell(
    line: ComparedArm, tree: ComparedArm, concurrency: int, troubles: tuple[str, ...]
) -> Cell:
    mine, theirs = line.at(concurrency), tree.at(concurrency)
    found = ratios(mine, theirs)
    narrow = ratios(mine, theirs, confidence=TEST_CONFIDENCE)
    return Cell(
        concurrency=concurrency,
        ratios=found,
        verdicts={
            name: verdict(
                getattr(found, name), narrow=getattr(narrow, name), lower_wins=name in LOWER_WINS
            )
            for name in JUDGED
        },
        detectable={
            name: sentence
            for name in JUDGED
            if (sentence := detectable_sentence(getattr(found, name))) is not None
        },
        why=decompose(line, tree, concurrency),
        linear_survival=tuple(survival(mine)),
        tree_survival=tuple(survival(theirs)),
        categories=tuple(by_category(mine, theirs)),
        prompt_lengths=tuple(by_prompt_length(mine, theirs)),
        troubles=troubles,
    )
