"""What to run under a service level, as a section."""

from collections.abc import Iterator, Sequence

from ddbench.compare.slo import Held, Recommendation, Setting
from ddbench.report.numbers import MS_PER_S, NOT_MEASURED
from ddbench.report.sections import Measured, Said, Section, Sentence, Words, plain

_HOW: Sentence = (
    "Of the arms that meet every limit, the one with the most tok/s. met: the 95 % interval of the "
    "number lies below its limit, and so does every trial by itself; within noise: one of them "
    "does not, or n allows no interval. Intervals are those of the choice of prompts. A mean hides "
    "the slowest requests: name a percentile (`ttft_s.p95<1`) where they count.",
)


def slo_sentences(found: Sequence[Recommendation]) -> Iterator[Sentence]:
    """One a concurrency."""
    for one in found:
        yield _sentence(one)


def slo_section(found: Sequence[Recommendation]) -> Section:
    """Every arm under every limit, fastest first."""
    limits = found[0].limits if found else ()
    several = len({setting.run for one in found for setting in one.settings}) > 1
    return Section(
        "Under the service level",
        (*slo_sentences(found), _HOW),
        header=("concurrency", "arm", "tok/s", *(str(limit) for limit in limits), "level"),
        rows=tuple(
            (
                str(one.concurrency),
                Said(f"{setting.run}: {setting.arm}" if several else setting.arm),
                Measured(setting.tokens_per_s),
                *(_held(held) for held in setting.held),
                setting.met,
            )
            for one in found
            for setting in one.settings
        ),
    )


def _sentence(one: Recommendation) -> Sentence:
    level = ", ".join(str(limit) for limit in one.limits)
    head = f"{level} at concurrency {one.concurrency}: "
    if one.best is None:
        return (head, f"{one.verdict}.", *_left_out(one))
    parts: list[Words] = [head, Said(one.best.arm), f" {one.verdict}, ", *_numbers(one.best)]
    if one.rivals:
        parts += ["; its tok/s is not told from that of ", *_listed(one.rivals)]
    if one.faster:
        parts += ["; faster, but within noise of a limit: ", *_listed(one.faster)]
    return (*parts, ".", *_left_out(one))


def _numbers(setting: Setting) -> Iterator[Words]:
    yield Measured(setting.tokens_per_s)
    held = ", ".join(
        f"{one.limit.statistic} {one.limit.metric} {plain(_held(one))}" for one in setting.held
    )
    yield f" tok/s ({held})"


def _held(held: Held) -> Words:
    if held.measured is None:
        return f"{NOT_MEASURED} ({held.met})"
    return Measured(held.measured, scale=MS_PER_S, units=" ms")


def _listed(names: Sequence[str]) -> Iterator[Words]:
    for place, name in enumerate(names):
        if place:
            yield ", "
        yield Said(name)


def _left_out(one: Recommendation) -> Iterator[Words]:
    for arm, why in one.left_out.items():
        yield " Left out: "
        yield Said(arm)
        yield f" ({'; '.join(why)})."
