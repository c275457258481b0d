"""What a reader must know beside the numbers."""

from collections.abc import Sequence

from ddbench.records import Launch, RunResult
from ddbench.report.summary import Row

EMBEDDED = "embedded demo model, CPU"


def runs_on_the_embedded_engine(launches: Sequence[Launch], results: Sequence[RunResult]) -> bool:
    servers = [launch.server for launch in launches] + [r.trial.server for r in results]
    return any(server.engine == "embedded" for server in servers)


def caveats(launches: Sequence[Launch], results: Sequence[RunResult]) -> list[str]:
    """What these numbers do not say, most important first; plain sentences without markup."""
    found = []
    if runs_on_the_embedded_engine(launches, results):
        found.append(
            f"Measured on the {EMBEDDED}: the numbers say nothing about another model or machine."
        )
    if results and all(result.trial.visit == 0 for result in results):
        found.append("One visit: drift and launch-to-launch variance not measured.")
    if any(request.retractions is None for r in results for request in r.completed):
        found.append("The server does not report retractions; they are taken to be none.")
    if any(result.trial.load.record_drafts for result in results):
        found.append("Trials that recorded drafts are probes: they are never timed.")
    return found


def failure_counts(rows: Sequence[Row]) -> str | None:
    """`2 trials and 3 requests failed`, or None."""
    trials = sum(row.failed_trials for row in rows)
    requests = sum(row.failed_requests for row in rows)
    if not trials and not requests:
        return None
    return f"{trials} trials and {requests} requests of the other trials failed"
