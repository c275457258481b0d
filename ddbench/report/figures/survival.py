"""How far drafts are accepted: the share of verify steps with at least k drafts, a line an arm."""

from collections.abc import Iterator
from dataclasses import dataclass

from ddbench.report.figures.document import document
from ddbench.report.figures.plot import BOTTOM, LEFT, LEGEND_TOP, RIGHT, TOP, Axis, axes, empty
from ddbench.report.figures.scales import Scale
from ddbench.report.figures.series import legend, mark, path, slots, whisker
from ddbench.report.numbers import interval_text
from ddbench.stats.interval import Interval

TITLE = "Accepted drafts: P(d ≥ k)"
_APART = 4.0  # between the bars of two arms at one depth


@dataclass(frozen=True, slots=True)
class Curve:
    """survival[k - 1]: the share of verify steps that accept at least k drafts."""

    arm: str
    survival: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class SurvivalFigure:
    """where: said beneath the heading's words, "concurrency 8"; arm_order as in other figures."""

    curves: tuple[Curve, ...]
    where: str = ""
    arm_order: tuple[str, ...] = ()


def draw(figure: SurvivalFigure) -> str:
    """Arms stand a little beside each other at each depth, so that their bars can be told apart."""
    curves = [curve for curve in figure.curves if curve.survival]
    looks = slots([curve.arm for curve in curves], figure.arm_order)
    shown = {curve.arm: looks[curve.arm] for curve in curves}
    names, height = legend(shown, LEGEND_TOP)
    return document(
        f"{TITLE}, {figure.where}" if figure.where else TITLE,
        _description(curves),
        LEGEND_TOP + height + 8,
        [*(_field(curves, looks) if curves else [empty()]), *names],
    )


def _field(curves: list[Curve], looks: dict[str, int]) -> Iterator[str]:
    deepest = max(len(curve.survival) for curve in curves)
    across = Scale(0.5, deepest + 0.5, LEFT, RIGHT)
    upwards = Scale(0.0, 1.0, BOTTOM, TOP)
    depths = tuple(float(depth) for depth in range(1, deepest + 1))
    yield from axes(Axis("k, drafts accepted in a step", across, depths), Axis("share", upwards))
    apart = min(_APART, 0.6 * (RIGHT - LEFT) / deepest / len(curves))
    for number, curve in enumerate(curves):
        aside = (number - (len(curves) - 1) / 2) * apart
        slot = looks[curve.arm]
        places = [
            (across.at(depth) + aside, upwards.at(share.value))
            for depth, share in enumerate(curve.survival, start=1)
        ]
        yield path(slot, places)
        for depth, ((x, y), share) in enumerate(zip(places, curve.survival, strict=True), start=1):
            said = f"P(d ≥ {depth}) = {interval_text(share)}, {curve.arm}"
            yield mark(slot, x, y, said, below=[whisker(x, share, upwards)])


def _description(curves: list[Curve]) -> str:
    if not curves:
        return "Nothing was measured."
    ends = "; ".join(
        f"{curve.arm} {curve.survival[0].value:.2f} for 1, {curve.survival[-1].value:.2f} for "
        f"{len(curve.survival)}"
        for curve in curves
    )
    known = any(share.low is not None for curve in curves for share in curve.survival)
    bars = ", with 95 % intervals" if known else ""
    return f"Share of verify steps that accept at least k drafts{bars}: {ends}."
