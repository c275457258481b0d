from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.limits import number_setting
from ddbench.checks.needs import LOAD, SERVER_RECORD
from ddbench.checks.rule import rule
from ddbench.checks.startup_values import startup_lines


@rule(
    "DDB305",
    "running-limit-below-concurrency",
    Severity.ERROR,
    remedy="Pass --max-running-requests of at least the largest concurrency, and memory for it.",
    needs=(LOAD, SERVER_RECORD),
)
def running_limit_below_concurrency(evidence: Evidence) -> Iterator[Outcome]:
    """The server may run fewer requests at a time than the trial sends.

    ## Why it matters
    SGLang sets max_running_requests to 48 for speculative arms unless told otherwise, and lowers it
    when memory is short. The rest waits in a queue: the trial "at 64" is one at 48, and only for
    the arm that drafts.

    ## How it is computed
    max_running_requests as the server resolved it (/server_info, or its start-up line), against the
    concurrency of the load.

    ## Example
    Bad: concurrency 64, max_running_requests 48.
    Good: concurrency 64, max_running_requests 64.
    """
    if evidence.load is None:
        return
    limit = number_setting(evidence, "max_running_requests")
    reset = startup_lines(evidence, "max_running_requests_reset")
    if limit is None and reset and reset[-1].isdigit():
        limit = int(reset[-1])
    if limit is None:
        yield Lacks("max_running_requests as the server resolved it")
    elif limit < evidence.load.concurrency:
        yield (
            f"concurrency {evidence.load.concurrency} on a server that runs at most {limit} "
            "requests at a time"
        )
