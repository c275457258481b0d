"""What went wrong, before any number: a Markdown section."""

from collections import Counter
from collections.abc import Sequence

from ddbench.records import Failure, Launch, RequestFailed, RunResult
from ddbench.report.gfm import block, code, table


def what_failed(launches: Sequence[Launch], results: Sequence[RunResult]) -> list[str]:
    """Paragraphs: failed launches and trials, failed requests, then the evidence. Empty: none."""
    done = {result.key for result in results if result.failure is None}
    launch_failures = [(launch, launch.failure) for launch in launches if launch.failure]
    trial_failures = [(result, result.failure) for result in results if result.failure]
    parts = []
    if launch_failures or trial_failures:
        rows = [
            ["launch", code(launch.log_name or "-"), "-", "-", *_why(failure)]
            for launch, failure in launch_failures
        ] + [
            [
                "trial, measured again" if result.key in done else "trial",
                code(result.trial.arm),
                str(result.trial.load.concurrency),
                str(result.trial.repeat),
                *_why(failure),
            ]
            for result, failure in trial_failures
        ]
        parts.append(table(("what", "arm or log", "concurrency", "repeat", "why", "do"), rows))
    if reasons := _request_failures(results):
        parts.append(table(("failed requests", "arm", "concurrency", "reason"), reasons))
    evidence = {failure.evidence: failure for _, failure in [*launch_failures, *trial_failures]}
    for text, failure in evidence.items():
        if text.strip():
            parts += [f"Evidence of {code(failure.crash_class)}:", block(text)]
    return parts


def _why(failure: Failure) -> list[str]:
    return [code(failure.crash_class), code(failure.advice)]


def _request_failures(results: Sequence[RunResult]) -> list[list[str]]:
    """Counted over every trial, those that failed as a whole too."""
    counts = Counter(
        (result.trial.arm, result.trial.load.concurrency, request.reason)
        for result in results
        for request in result.requests
        if isinstance(request, RequestFailed)
    )
    return [
        [str(number), code(arm), str(concurrency), code(reason)]
        for (arm, concurrency, reason), number in sorted(counts.items())
    ]
