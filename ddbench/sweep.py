"""The flow of a sweep on one page: plan -> server -> load -> logs -> runs."""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from ddbench.draft_records import SUFFIX
from ddbench.errors import LogFormatError, PlanError, ServerError
from ddbench.load.chat_template import ready_to_send
from ddbench.load.dialogue import read_api_key
from ddbench.load.progress import Progress
from ddbench.load.prompts import read_prompts
from ddbench.load.run import run_load
from ddbench.load.warm_up import warm_up
from ddbench.logs.excerpt import read_excerpt
from ddbench.plan.argv import server_command
from ddbench.plan.expand import by_launch, expand, of_arms
from ddbench.plan.key import trial_key
from ddbench.records import (
    Counters,
    Environment,
    Failure,
    Launch,
    LoadConfig,
    LogExcerpt,
    Prompt,
    RepeatRule,
    RequestFailed,
    RunningServer,
    RunResult,
    ServerCommand,
    ServerConfig,
    SweepPlan,
    Trial,
)
from ddbench.runs.precision import is_precise, measured
from ddbench.runs.store import RunStore
from ddbench.server.counters import flush_cache, read_counters
from ddbench.server.crash import classify
from ddbench.server.environment import identify, probe_environment
from ddbench.server.launchers import lend_server, require_launcher, units_restored, why_ended
from ddbench.server.leftovers import stop_leftover_servers
from ddbench.server.ports import free_port
from ddbench.server.running import attached_server, is_alive
from ddbench.server.sglang_flags import require_known_flags
from ddbench.server.systemd.undo import stop_leftover_units


@dataclass(frozen=True, slots=True)
class PassStarted:
    trials: tuple[Trial, ...]  # to be run, unless spared


@dataclass(frozen=True, slots=True)
class LaunchStarted:
    arm: str
    log_path: Path


@dataclass(frozen=True, slots=True)
class LaunchEnded:
    launch: Launch


@dataclass(frozen=True, slots=True)
class TrialStarted:
    trial: Trial


@dataclass(frozen=True, slots=True)
class TrialSpared:
    trial: Trial


@dataclass(frozen=True, slots=True)
class TrialEnded:
    result: RunResult


Event = (
    PassStarted | LaunchStarted | LaunchEnded | TrialStarted | Progress | TrialSpared | TrialEnded
)
Point = tuple[ServerConfig, LoadConfig, int]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which trials to run now, and in which order; the rest is for another `--resume`."""

    arms: tuple[str, ...] | None = None
    limit: int | None = None  # at most so many trials
    seed: int | None = None  # of a random order

    def of(self, plan: SweepPlan) -> list[Trial]:
        trials = expand(plan, seed=self.seed)
        return trials if self.arms is None else of_arms(trials, self.arms)


EVERYTHING = Selection()


@dataclass(frozen=True, slots=True)
class Outcome:
    failed: int  # trials that were begun, and have no valid result
    left: int  # trials that were not asked for this time, and have none either


def run_sweep(
    plan: SweepPlan,
    folder: Path,
    *,
    notify: Callable[[Event], None],
    resume: bool = False,
    retries: int = 0,
    only: Selection = EVERYTHING,
) -> Outcome:
    """Run every trial of `plan` that `folder` has no valid result of.

    A server that does not start, or dies, fails its trials and the sweep goes on; failed trials
    are tried again `retries` times. What cannot work at all (no prompts, a taken port, a folder
    that holds something else) is raised before anything starts.
    """
    asked = only.of(plan)
    prompts = read_prompts(plan.loads[0].prompts, plan.loads[0].count)
    _require_supported(plan)
    if resume:
        with RunStore.resume(folder):  # nobody else is at it
            stop_leftover_units(folder)
            stop_leftover_servers(folder)
    for server in dict.fromkeys(plan.servers):
        if server.engine != "attach":
            server_command(server, port=0)
        require_launcher(server)
    with (
        RunStore.resume(folder) if resume else RunStore.create(folder, plan) as store,
        units_restored(folder),
    ):
        sweep = _Sweep(store, prompts, plan.until, notify)
        trials = sweep.not_done(asked)[: only.limit]
        for _ in range(1 + retries):
            todo = sweep.not_done(trials)
            notify(PassStarted(tuple(todo)))
            for server, group in by_launch(todo):
                pending = deque(group)
                while pending:  # a server that died in mid-trial is launched again for the rest
                    sweep.run_launch(server, pending)
        failed = len(sweep.not_done(trials))
        return Outcome(failed, left=len(sweep.not_done(expand(plan))) - failed)


def not_done(plan: SweepPlan, store: RunStore, only: Selection) -> list[Trial]:
    """What run_sweep would run now, in its order, if every trial succeeded at once."""
    prompts = read_prompts(plan.loads[0].prompts, plan.loads[0].count)
    return _Sweep(store, prompts, plan.until, lambda _: None).not_done(only.of(plan))[: only.limit]


class _Sweep:
    """One sweep under way: what every launch and every trial of it needs."""

    def __init__(
        self,
        store: RunStore,
        prompts: list[Prompt],
        until: RepeatRule | None,
        notify: Callable[[Event], None],
    ) -> None:
        self._store = store
        self._prompts = prompts
        self._notify = notify
        self._identities: dict[ServerConfig, Mapping[str, str]] = {}
        self._until = until
        self._values: dict[Point, list[float]] = defaultdict(list)
        self._failed_keys: set[str] = set()
        if until is not None:
            for result in store.results():
                self._take(result)

    def not_done(self, trials: list[Trial]) -> list[Trial]:
        done = self._store.done_keys()
        left = [trial for trial in trials if self._key(trial) not in done]
        return [trial for trial in left if not self._is_spared(trial)]

    def _is_spared(self, trial: Trial) -> bool:
        """Its repeats so far are precise enough; a trial that failed is never spared."""
        if self._until is None or self._key(trial) in self._failed_keys:
            return False
        return is_precise(self._values[_point(trial)], self._until.within)

    def _take(self, result: RunResult) -> None:
        """Into what decides whether further repeats are needed."""
        if self._until is None or result.key != self._key(result.trial):
            return
        if result.failure is not None:
            self._failed_keys.add(result.key)
        elif (value := measured(result, self._until.metric)) is not None:
            self._failed_keys.discard(result.key)
            self._values[_point(result.trial)].append(value)

    def _key(self, trial: Trial) -> str:
        server = trial.server
        if server not in self._identities:
            command = None if server.engine == "attach" else server_command(server, port=0)
            self._identities[server] = {
                **identify(server, command),
                "prompts": _digest(self._prompts),
            }
        return trial_key(trial, self._identities[server])

    def run_launch(self, server: ServerConfig, pending: deque[Trial]) -> None:
        """Launch once, and take trials off `pending` for as long as the server lives."""
        log_path = self._store.new_log_path(pending[0].arm)
        self._notify(LaunchStarted(pending[0].arm, log_path))
        launch = Launch(server, (), log_path.name, None, Environment({}, {}), None)
        try:
            port = server.port or free_port(server.host)
            drafts = log_path.with_suffix(SUFFIX) if server.record_drafts else None
            command = None
            if server.engine != "attach":
                command = server_command(server, port=port, record_to=drafts)
                launch = replace(launch, argv=command.argv)
            with self._lent(server, command, port, log_path) as running:
                if drafts is not None:
                    _require_recording(drafts)
                env = dict(command.env) if command is not None else None
                environment = probe_environment(
                    running.base_url, server, env=env, api_key=read_api_key(pending[0].load)
                )
                launch = replace(launch, startup_s=running.startup_s, environment=environment)
                launch_id = self._store.add_launch(launch)
                self._notify(LaunchEnded(launch))
                steady: dict[LoadConfig, float] = {}
                while pending:
                    trial = pending.popleft()
                    if self._is_spared(trial):
                        self._notify(TrialSpared(trial))
                        continue
                    self._notify(TrialStarted(trial))
                    self._record(launch_id, self._measure(trial, running, steady))
                    if not is_alive(running):
                        break
        except ServerError as error:
            if launch.startup_s is not None:
                raise  # it survived SIGKILL: nothing else may be started beside it
            seen = log_path if log_path.exists() else str(error)
            launch = replace(launch, failure=classify(seen, error))
            launch_id = self._store.add_launch(launch)
            self._notify(LaunchEnded(launch))
            while pending:
                trial = pending.popleft()
                self._record(launch_id, replace(self._unmeasured(trial), failure=launch.failure))

    def _lent(
        self, server: ServerConfig, command: ServerCommand | None, port: int, log_path: Path
    ) -> AbstractContextManager[RunningServer]:
        """The server of one launch, started when entered; no command: someone else runs it."""
        if command is None:
            assert server.base_url is not None
            return attached_server(server.base_url)
        if server.engine == "sglang":
            require_known_flags(command.argv, env=command.env)
        folder = self._store.folder
        return lend_server(command, server, port=port, log_path=log_path, run_folder=folder)

    def _measure(
        self, trial: Trial, running: RunningServer, steady: dict[LoadConfig, float]
    ) -> RunResult:
        """Warm up, flush, snapshot, load, snapshot; whatever was measured is kept on failure.

        steady: the warm-up rate of this launch at each load that it has served.
        """
        load, url = trial.load, running.base_url
        key = read_api_key(load)
        result = self._unmeasured(trial)
        prompts = ready_to_send(url, self._prompts, load)
        log_start = 0
        try:
            log_start = _settled_size(running)
            warmed = warm_up(url, prompts, load, known_rate=steady.get(load))
            if warmed.refusals:
                cause = _why_ended(running, trial.server)
                seen = _log_since(running, log_start)
                return replace(result, failure=classify(seen, cause, responses=warmed.refusals))
            if warmed.is_steady:
                steady[load] = warmed.rates[-1]
            flush_cache(url, api_key=key)
            result = replace(result, counters_before=read_counters(url, api_key=key))
            before, log_start = log_start, _settled_size(running)
            _require_grown(running, before, log_start)
            outcome = run_load(url, prompts, load, on_progress=self._notify)
            client = replace(
                outcome.client, warm_up_rates=warmed.rates, warm_up_steady=warmed.is_steady
            )
            result = replace(
                result, requests=outcome.requests, wall_s=outcome.wall_s, client=client
            )
            result = replace(result, counters_after=read_counters(url, api_key=key))
            if running.log_path is not None:
                log_end = _settled_size(running)
                result = replace(result, log=read_excerpt(running.log_path, log_start, log_end))
        except ServerError as error:
            cause = _why_ended(running, trial.server) or error
            return replace(result, failure=classify(_log_since(running, log_start), cause))
        except LogFormatError as error:
            return replace(result, failure=Failure("log_rotated", str(error), error.remedy))
        return replace(result, failure=_failure(result, running, log_start))

    def _unmeasured(self, trial: Trial) -> RunResult:
        return RunResult(
            key=self._key(trial),
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

    def _record(self, launch_id: int, result: RunResult) -> None:
        self._store.add_result(launch_id, result)
        self._take(result)
        self._notify(TrialEnded(result))


def _point(trial: Trial) -> Point:
    """What repeats repeat."""
    return trial.server, trial.load, trial.visit


def _require_supported(plan: SweepPlan) -> None:
    """Refuse what the sweep file may say and no part of ddbench does yet, rather than ignore it."""
    asked = {
        "patches": any(server.patches is not None for server in plan.servers),
    }
    if missing := [key for key, used in asked.items() if used]:
        raise PlanError(
            f"this version of ddbench does not do `{missing[0]}` yet",
            remedy="Take the key out of the sweep file.",
        )
    if len({load.rate_per_s for load in plan.loads}) > 1:
        raise PlanError(
            "this version of ddbench cannot report on several rates in one run: it would mix them",
            remedy="Write one sweep file a rate.",
        )


def _require_recording(path: Path) -> None:
    """A server that records has begun its file before it is ready."""
    if not path.exists():
        raise ServerError(
            f"the server is ready, and did not begin {path.name}: it records no drafts",
            remedy="SGLang 0.5.23 does with ddbench installed beside it; see the server's log.",
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


def _settled_size(running: RunningServer) -> int:
    """Of the log, once it has the lines of every answer so far."""
    if running.log_path is None:
        return 0
    time.sleep(running.log_lag_s)
    try:
        return running.log_path.stat().st_size
    except FileNotFoundError as cause:
        raise _log_rotated(running) from cause


def _require_grown(running: RunningServer, before: int, now: int) -> None:
    if now < before:
        raise _log_rotated(running)


def _log_rotated(running: RunningServer) -> LogFormatError:
    return LogFormatError(
        f"the server's log {running.log_path} was rotated, truncated or removed",
        remedy="Let nothing rotate or truncate the log while the sweep runs.",
    )


def _digest(prompts: list[Prompt]) -> str:
    said = (f"{p.prompt_id}\0{p.messages or p.text}" for p in prompts)
    return sha256("\0".join(said).encode()).hexdigest()
