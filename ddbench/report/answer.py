"""The run in one paragraph: may it be used, what was fastest, and whether the tree pays."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ddbench.checks.finding import Severity
from ddbench.compare.gate import trouble_at
from ddbench.compare.linear_vs_tree import LinearVsTree
from ddbench.compare.pairing import throughput_ratio
from ddbench.records import RunResult
from ddbench.report.content import Found
from ddbench.report.drafters import DrafterReport
from ddbench.report.findings import count_of
from ddbench.report.notes import EMBEDDED
from ddbench.report.sections import Measured, Said, Sentence, Words
from ddbench.report.summary import Row
from ddbench.stats.interval import Interval

Trials = Mapping[tuple[str, int], list[RunResult]]


def answer(
    rows: Sequence[Row],
    results: Sequence[RunResult],
    comparison: LinearVsTree | None,
    found: Sequence[Found],
    drafters: Sequence[DrafterReport] = (),
    *,
    on_embedded_engine: bool,
) -> Sentence:
    """Sentences one after another; each rests on a table of the report."""
    words: list[Words] = []
    if errors := count_of(found, Severity.ERROR):
        plural = "s" if errors > 1 else ""
        words.append(f"Clear up the {errors} ERROR finding{plural} before using these numbers. ")
    if on_embedded_engine:
        words.append(f"Measured on the {EMBEDDED}. ")
    timed = _timed(results)
    words += list(_fastest(rows, timed)) or ["Nothing was timed in a closed loop. "]
    if comparison is not None:
        words += [*_largest_gain(comparison), *_trees(comparison)]
    for drafter in drafters:
        if (head := drafter.headline) is not None:
            names = (Said(head.drafter), " (", Said(drafter.arm), "), ", Said(head.tree))
            words += ["Drafter ", *names, f": {head.sentence} "]
    return tuple(words)


def _timed(results: Sequence[RunResult]) -> Trials:
    trials: dict[tuple[str, int], list[RunResult]] = defaultdict(list)
    for result in results:
        if result.failure is None and not result.trial.load.record_drafts:
            trials[result.trial.arm, result.trial.load.concurrency].append(result)
    return trials


def _fastest(rows: Sequence[Row], trials: Trials) -> Iterator[Words]:
    """Of closed loops: in an open one the throughput is what was asked for."""
    if len({result.trial.server.model for group in trials.values() for result in group}) > 1:
        yield "The arms serve different models, so none of them is called the fastest. "
        return
    by_concurrency: dict[int, list[tuple[Row, Interval]]] = defaultdict(list)
    for row in rows:
        if row.concurrency and row.tokens_per_s is not None:
            by_concurrency[row.concurrency].append((row, row.tokens_per_s))
    for concurrency, measured in by_concurrency.items():
        trouble = {
            row.arm: found
            for row, _ in measured
            if (found := trouble_at(concurrency, trials[row.arm, concurrency]))
        }
        ranked = sorted(
            (one for one in measured if one[0].arm not in trouble), key=lambda one: -one[1].value
        )
        for arm, found in trouble.items():
            yield from (f"At concurrency {concurrency} ", Said(arm), " is not ranked (")
            yield from (Said(found[0]), "). ")
        if not ranked:
            continue
        best, speed = ranked[0]
        yield from (f"At concurrency {concurrency} ", Said(best.arm), " gave the most tok/s, ")
        yield Measured(speed)
        plain = [row for row, _ in ranked if row.speculation.algorithm is None]
        others = dict.fromkeys(row.arm for row in [*(r for r, _ in ranked[1:2]), *plain])
        for number, arm in enumerate(arm for arm in others if arm != best.arm):
            yield ", " if number else ": "
            yield from _against(arm, best.arm, concurrency, trials)
        unnamed = [row.arm for row, _ in ranked[1:] if row.arm not in others]
        alike = [arm for arm in unnamed if not _surely(_ratio(arm, best.arm, concurrency, trials))]
        for number, arm in enumerate(alike):
            yield from (", " if number else "; not told apart from ", Said(arm))
        yield ". "


def _against(other: str, best: str, concurrency: int, trials: Trials) -> Iterator[Words]:
    """How much more, and whether that is beyond the noise of running again."""
    ratio = _ratio(other, best, concurrency, trials)
    if ratio is None:
        yield from ("no repeat shared with ", Said(other))
        return
    yield from (Measured(ratio, units="x"), " those of ", Said(other))
    if not _surely(ratio):
        yield " (not told apart)"


def _ratio(other: str, best: str, concurrency: int, trials: Trials) -> Interval | None:
    return throughput_ratio(trials[other, concurrency], trials[best, concurrency])


def _surely(ratio: Interval | None) -> bool:
    """Above 1."""
    return ratio is not None and ratio.low is not None and ratio.low > 1.0


def _largest_gain(comparison: LinearVsTree) -> Iterator[Words]:
    """Of tokens/step, apart from tok/s: a tree can win the one and lose the other.

    Each over its own linear arm: of two drafters the worse one may gain more.
    """
    ratios = [
        (ratio, pair, cell.concurrency)
        for pair in comparison.pairs
        for cell in pair.cells
        if (ratio := cell.ratios.tokens_per_step) is not None and not pair.label_of(cell)
    ]
    if ratios:
        ratio, pair, concurrency = max(ratios, key=lambda one: one[0].value)
        yield from ("Of the trees ", Said(pair.tree), " gained the most in tokens/step, ")
        yield from (Measured(ratio, units="x"), " those of ", Said(pair.linear))
        yield f" at concurrency {concurrency}. "


def _trees(comparison: LinearVsTree) -> Iterator[Words]:
    """Trees of which the same is true are named together."""
    alike: dict[tuple[str, str], list[str]] = defaultdict(list)
    for pair in comparison.pairs:
        if pair.crossover is not None and not pair.forced:
            alike[pair.linear, pair.crossover.sentence].append(pair.tree)
    for (linear, sentence), trees in alike.items():
        yield from [word for tree in trees for word in (", ", Said(tree))][1:]
        yield from (" over ", Said(linear), f" in tok/s: {sentence}. ")
