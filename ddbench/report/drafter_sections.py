"""Drafters as sections: the verdict first, then coverage, what siblings catch, and calibration."""

from collections.abc import Iterator, Sequence

from ddbench.predict.drafter import Calibration, DrafterFacts
from ddbench.report.drafters import DrafterReport
from ddbench.report.numbers import NOT_MEASURED, interval_text
from ddbench.report.sections import Measured, Said, Section, Sentence
from ddbench.stats.interval import Interval
from ddbench.stats.share import MIN_SHARE_CLUSTERS

NO_RECORDING: Sentence = (
    "Drafter: not judged, for no drafts were recorded. Add `- linear: {block_size: N, "
    "record_drafts: true}` to the arms of the sweep, as sweeps/drafters.yaml has it.",
)

_HOW: tuple[Sentence, ...] = (
    (
        "Tokens/step, tree over linear. predicted: the recorded drafts replayed through both, "
        "paired by prompt. ceiling: the same with every path of the tree's topk candidates in the "
        "tree, whatever the budget: all that coverage allows. measured: all concurrencies "
        "together, by prompt. It cannot help where the upper bound gains less than 1 %.",
    ),
)
_COVERAGE: Sentence = (
    "Share of positions at which the target's token is among the drafter's first k candidates at "
    "that depth; a linear draft uses the first, a tree adds siblings. "
    f"Shares have an interval from {MIN_SHARE_CLUSTERS} prompts on.",
)


def drafter_sections(reports: Sequence[DrafterReport]) -> Iterator[Section]:
    """Empty where nothing was recorded."""
    if not reports:
        return
    yield _verdicts(reports)
    for report in reports:
        if report.facts is not None:
            yield _coverage(report, report.facts)
            yield from _calibrations(report, report.facts)


def drafter_sentences(reports: Sequence[DrafterReport]) -> Iterator[Sentence]:
    """One a drafter: the verdict on its largest tree."""
    for report in reports:
        if (head := report.headline) is not None:
            names = (Said(head.drafter), " (", Said(report.arm), "), ", Said(head.tree))
            yield ("Drafter ", *names, ": ", head.sentence)
        for note in report.notes:
            yield ("Recording of ", Said(report.arm), ": ", Said(note))


def _verdicts(reports: Sequence[DrafterReport]) -> Section:
    rows = tuple(
        (
            Said(tree.drafter),
            Said(report.arm),
            Said(tree.tree),
            Measured(tree.predicted, units="x"),
            Measured(tree.ceiling, units="x"),
            Measured(tree.measured, units="x"),
            tree.outcome if tree.measured is not None else f"{tree.outcome} (predicted)",
        )
        for report in reports
        for tree in report.trees
    )
    header = ("drafter", "recorded by", "tree", "predicted", "ceiling", "measured", "the tree")
    sentences = (*drafter_sentences(reports), *_HOW)
    return Section("Drafter", sentences, header if rows else (), rows)


def _coverage(report: DrafterReport, facts: DrafterFacts) -> Section:
    asked = list(facts.coverage[0].at) if facts.coverage else []
    return Section(
        "Coverage by depth",
        (
            (*_whose(report, facts), f", {facts.prompts} prompts. ", *_COVERAGE),
            (_caught(facts),),
        ),
        header=("depth", "positions", *(f"coverage@{k}" for k in asked)),
        rows=tuple(
            (
                str(one.depth),
                str(one.positions),
                *(_percent(one.at[k]) for k in asked),
            )
            for one in facts.coverage
        ),
    )


def _whose(report: DrafterReport, facts: DrafterFacts) -> Sentence:
    return (Said(facts.draft_model or report.arm), " (", Said(report.arm), ")")


def _caught(facts: DrafterFacts) -> str:
    if not facts.mismatches:
        return "No step of a linear draft meets a wrong first choice."
    shares = "; ".join(
        f"{_percent_text(found)} among the first {k}" for k, found in facts.caught.items()
    )
    return (
        f"Of {facts.mismatches} linear steps that meet a wrong first choice, a sibling would have "
        f"caught: {shares}."
    )


def _calibrations(report: DrafterReport, facts: DrafterFacts) -> Iterator[Section]:
    for found in facts.calibration:
        yield Section(
            f"Calibration of {found.of}",
            ((*_whose(report, facts), ": ", _calibration(found)),),
            header=("probability", "candidates", "stated", "came true"),
            rows=tuple(
                (
                    f"{one.low:.1f} to {one.high:.1f}",
                    str(one.candidates),
                    f"{100.0 * one.stated:.1f} %",
                    _percent(one.hits),
                )
                for one in found.bins
            ),
        )


def _calibration(found: Calibration) -> str:
    text = (
        f"expected calibration error {found.error:.2%} over {found.candidates} candidates "
        f"({found.by_chance:.2%} by chance alone); stated over came true "
    )
    if found.stated_over_hit is None:
        return f"{text}{NOT_MEASURED}: none came true."
    ratio = interval_text(found.stated_over_hit, units="x")
    return f"{text}{ratio} (above 1 it promises too much, below 1 too little)."


def _percent(share: Interval) -> Measured:
    return Measured(share, scale=100.0, units=" %")


def _percent_text(share: Interval) -> str:
    return _percent(share).text
