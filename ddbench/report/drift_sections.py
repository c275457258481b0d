"""What changed between the visits, as sentences."""

from collections.abc import Iterator

from ddbench.compare.drift import Drift
from ddbench.report.sections import Measured, Said, Section, Sentence


def drift_section(found: Drift) -> Section:
    """One row a server and concurrency."""
    several = len({one.run for one in found.servers}) > 1
    return Section(
        f"Drift over {found.visits} visits: tok/s of the last over the first",
        tuple(drift_sentences(found)),
        header=("concurrency", "arm", "tok/s"),
        rows=tuple(
            (
                str(one.concurrency),
                Said(f"{one.run}: {one.arm}" if several else one.arm),
                Measured(one.ratio, units="x"),
            )
            for one in sorted(found.servers, key=lambda one: one.concurrency)
        ),
    )


def drift_sentences(found: Drift) -> Iterator[Sentence]:
    yield (f"Drift: {found.sentence}.",)
    said = "Each server counts once, by the mean of its concurrencies."
    if found.visits % 2 == 0:
        said += (
            " Every second visit runs in reverse order, so a steady drift meets both arms of a "
            "comparison alike and leaves its mean."
        )
    else:
        said += (
            " Every second visit runs in reverse order: after an odd number of them a steady drift "
            "is not quite the same for arms that ran first and last."
        )
    yield (said,)
