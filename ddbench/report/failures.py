"""What went wrong, before any number."""

from collections import Counter
from collections.abc import Iterator, Sequence

from ddbench.records import Failure, Launch, RequestFailed, RunResult, Trial
from ddbench.report.content import Failed, FailedRequests
from ddbench.report.numbers import NOT_MEASURED, load_header, load_text
from ddbench.report.sections import Cell, Said, Section


def failed_of(launches: Sequence[Launch], results: Sequence[RunResult]) -> tuple[Failed, ...]:
    """Launches first, then trials, in the order they ran."""
    done = {result.key for result in results if result.failure is None}
    return (
        *(
            _failed("launch", launch.failure, launch.log_name or "-")
            for launch in launches
            if launch.failure
        ),
        *(
            _failed(
                "trial",
                result.failure,
                result.trial.arm,
                trial=result.trial,
                measured_again=result.key in done,
            )
            for result in results
            if result.failure
        ),
    )


def failed_requests_of(results: Sequence[RunResult]) -> tuple[FailedRequests, ...]:
    """Counted over every trial, those that failed as a whole too."""
    counts = Counter(
        (result.trial.arm, load.concurrency, load.rate_per_s, request.reason)
        for result in results
        for load in [result.trial.load]
        for request in result.requests
        if isinstance(request, RequestFailed)
    )
    return tuple(FailedRequests(number, *of) for of, number in sorted(counts.items(), key=_order))


def _order(counted: tuple[tuple[str, int, float | None, str], int]) -> tuple[object, ...]:
    (arm, concurrency, rate_per_s, reason), _ = counted
    return arm, concurrency, rate_per_s or 0.0, reason


def failure_sections(
    failed: Sequence[Failed], requests: Sequence[FailedRequests]
) -> Iterator[Section]:
    """Failed launches and trials, failed requests, then the evidence."""
    if failed:
        yield Section(
            "",
            header=(
                *("what", "arm or log", load_header(one.rate_per_s for one in failed)),
                *("repeat", "why", "do"),
            ),
            rows=tuple(_row(one) for one in failed),
        )
    if requests:
        yield Section(
            "",
            header=(
                *("failed requests", "arm", load_header(one.rate_per_s for one in requests)),
                "reason",
            ),
            rows=tuple(
                (
                    str(one.count),
                    Said(one.arm),
                    load_text(one.concurrency, one.rate_per_s),
                    Said(one.reason),
                )
                for one in requests
            ),
        )
    evidence = {one.evidence: one.crash_class for one in failed if one.evidence.strip()}
    if evidence:
        quotes = ((("Evidence of ", Said(why)), text) for text, why in evidence.items())
        yield Section("", quotes=tuple(quotes))


def _failed(
    what: str,
    failure: Failure,
    arm: str,
    *,
    trial: Trial | None = None,
    measured_again: bool = False,
) -> Failed:
    return Failed(
        what=what,
        arm=arm,
        concurrency=trial.load.concurrency if trial else None,
        rate_per_s=trial.load.rate_per_s if trial else None,
        repeat=trial.repeat if trial else None,
        measured_again=measured_again,
        crash_class=failure.crash_class,
        advice=failure.advice,
        evidence=failure.evidence,
    )


def _row(one: Failed) -> tuple[Cell, ...]:
    return (
        f"{one.what}, measured again" if one.measured_again else one.what,
        Said(one.arm),
        load_text(one.concurrency, one.rate_per_s),
        NOT_MEASURED if one.repeat is None else str(one.repeat),
        Said(one.crash_class),
        Said(one.advice),
    )
