"""One trial on a server that runs: warm up, flush, snapshot, load, snapshot, read the log."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from ddbench.errors import LogFormatError, ServerError
from ddbench.executors.executor import LaunchJob, Versions
from ddbench.load.chat_template import ready_to_send
from ddbench.load.dialogue import read_api_key
from ddbench.load.progress import Progress
from ddbench.load.run import Send, run_load
from ddbench.load.warm_up import warm_up
from ddbench.logs.trial_log import TrialLog
from ddbench.plan.key import trial_key
from ddbench.records import (
    Counters,
    Failure,
    LoadConfig,
    LogExcerpt,
    RequestFailed,
    RunningServer,
    RunResult,
    ServerConfig,
    Trial,
)
from ddbench.server.counters import flush_cache, read_counters
from ddbench.server.crash import classify
from ddbench.server.launchers import why_ended
from ddbench.server.running import is_alive


def measure(
    trial: Trial,
    job: LaunchJob,
    running: RunningServer,
    steady: dict[LoadConfig, float],
    on_progress: Callable[[Progress], None],
    send: Send = run_load,
) -> RunResult:
    """What the trial leaves behind; whatever was measured is kept on failure.

    steady: the warm-up rate of this launch at each load that it has served; added to. send: who
    sends the load.
    """
    load, url = trial.load, running.base_url
    key = read_api_key(load)
    result = unmeasured(trial, job.versions)
    log_start = 0
    try:
        prompts = ready_to_send(url, job.prompts, load)
        log = TrialLog(running.log_path, running.log_lag_s)
        log_start = log.start
        warmed = warm_up(url, prompts, load, known_rate=steady.get(load))
        if warmed.refusals:
            cause = _why_ended(running, trial.server)
            seen = _log_since(running, log_start)
            return replace(result, failure=classify(seen, cause, responses=warmed.refusals))
        if warmed.is_steady:
            steady[load] = warmed.rates[-1]
        flush_cache(url, api_key=key)
        result = replace(result, counters_before=read_counters(url, api_key=key))
        log.begin()
        log_start = log.start
        outcome = send(url, prompts, load, on_progress=_watching(log, on_progress))
        client = replace(
            outcome.client, warm_up_rates=warmed.rates, warm_up_steady=warmed.is_steady
        )
        result = replace(result, requests=outcome.requests, wall_s=outcome.wall_s, client=client)
        result = replace(result, counters_after=read_counters(url, api_key=key))
        result = replace(result, log=log.excerpt(result.steady_span_s))
    except ServerError as error:
        cause = _why_ended(running, trial.server) or error
        return replace(result, failure=classify(_log_since(running, log_start), cause))
    except LogFormatError as error:
        return replace(result, failure=Failure("log_rotated", str(error), error.remedy))
    return replace(result, failure=_failure(result, running, log_start))


def unmeasured(trial: Trial, versions: Versions) -> RunResult:
    """A result of `trial` that holds nothing yet."""
    return RunResult(
        key=trial_key(trial, versions),
        trial=trial,
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        requests=(),
        wall_s=None,
        client=None,
        log=LogExcerpt(),
        counters_before=Counters(),
        counters_after=Counters(),
        failure=None,
    )


def _failure(result: RunResult, running: RunningServer, log_start: int) -> Failure | None:
    """A trial is done only when every request was answered: the others may be the slow ones."""
    failed = [r for r in result.requests if isinstance(r, RequestFailed)]
    if not failed:
        return None
    if not is_alive(running) or not result.completed:
        reasons = [request.reason for request in failed]
        cause = _why_ended(running, result.trial.server)
        return classify(_log_since(running, log_start), cause, responses=reasons)
    return Failure(
        crash_class="requests_failed",
        evidence=f"{len(failed)} of {len(result.requests)} requests: {failed[0].reason}",
        advice="Look at the failed requests in `ddbench export`, and at the server's log.",
    )


def _log_since(running: RunningServer, start: int) -> str | None:
    if running.log_path is None or not running.log_path.exists():
        return None
    with running.log_path.open("rb") as log:
        log.seek(start)
        return log.read().decode(errors="replace")


def _why_ended(running: RunningServer, server: ServerConfig) -> ServerError | None:
    return None if is_alive(running) else why_ended(running, server)


def _watching(log: TrialLog, on_progress: Callable[[Progress], None]) -> Callable[[Progress], None]:
    def look(progress: Progress) -> None:
        log.look(progress.elapsed_s)
        on_progress(progress)

    return look
