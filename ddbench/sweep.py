"""The flow of a sweep on one page: plan -> server -> load -> logs -> runs."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from ddbench import __version__
from ddbench.errors import ServerError
from ddbench.load.closed_loop import Progress, run_closed_loop
from ddbench.load.prompts import read_prompts
from ddbench.logs.excerpt import read_excerpt
from ddbench.plan.argv import server_command
from ddbench.plan.expand import by_launch, expand
from ddbench.plan.key import trial_key
from ddbench.records import (
    Counters,
    Environment,
    Failure,
    Launch,
    LogExcerpt,
    Prompt,
    RunningServer,
    RunResult,
    ServerConfig,
    SweepPlan,
    Trial,
)
from ddbench.runs.store import RunStore
from ddbench.server.counters import flush_cache, read_counters
from ddbench.server.crash import classify
from ddbench.server.environment import probe_environment
from ddbench.server.ports import free_port, require_free
from ddbench.server.running import is_alive, running_server

WARM_UP_TOKENS = 16


@dataclass(frozen=True, slots=True)
class LaunchStarted:
    server: ServerConfig
    arm: str


@dataclass(frozen=True, slots=True)
class LaunchEnded:
    launch: Launch


@dataclass(frozen=True, slots=True)
class TrialStarted:
    trial: Trial
    number: int  # from 1
    total: int


@dataclass(frozen=True, slots=True)
class TrialEnded:
    result: RunResult


Event = LaunchStarted | LaunchEnded | TrialStarted | TrialEnded | Progress


@dataclass(frozen=True, slots=True)
class _Sweep:
    store: RunStore
    prompts: list[Prompt]
    versions: Mapping[str, str]
    total: int
    notify: Callable[[Event], None]


def run_sweep(plan: SweepPlan, folder: Path, *, notify: Callable[[Event], None]) -> int:
    """Run every trial of `plan` into a new run at `folder`; returns how many trials failed.

    A server that will not start, or dies, fails its trials and the sweep goes on. What cannot
    work at all (no prompts, a taken port, an existing run) is raised before anything starts.
    """
    trials = expand(plan)
    prompts = read_prompts(plan.loads[0].prompts, plan.loads[0].count)
    for server in dict(by_launch(trials)):
        if server.port is not None:
            require_free(server.host, server.port)
    versions = {"ddbench": __version__, "prompts": _digest(prompts)}
    failed = 0
    with RunStore.create(folder, plan) as store:
        sweep = _Sweep(store, prompts, versions, len(trials), notify)
        for server, group in by_launch(trials):
            pending = deque(group)
            while pending:  # a server that died in mid-trial is launched again for the rest
                failed += _run_launch(sweep, server, pending)
    return failed


def _run_launch(sweep: _Sweep, server: ServerConfig, pending: deque[Trial]) -> int:
    """Launch once, and take trials off `pending` while the server lives; returns the failures."""
    sweep.notify(LaunchStarted(server, pending[0].arm))
    log_path = sweep.store.new_log_path(pending[0].arm)
    port = server.port or free_port(server.host)
    command = server_command(server, port=port)
    launch = Launch(server, command.argv, log_path.name, None, Environment({}, {}), None)
    failed = 0
    try:
        with running_server(
            command,
            host=server.host,
            port=port,
            log_path=log_path,
            expected_model=command.model_path,
            ready_timeout_s=server.ready_timeout_s,
        ) as running:
            environment = probe_environment(running.base_url, server)
            launch = replace(launch, startup_s=running.startup_s, environment=environment)
            launch_id = sweep.store.add_launch(launch)
            sweep.notify(LaunchEnded(launch))
            while pending and is_alive(running):
                failed += _run_trial(sweep, launch_id, pending.popleft(), running)
    except ServerError as error:
        if launch.startup_s is not None:
            raise
        launch = replace(launch, failure=classify(log_path, error))
        launch_id = sweep.store.add_launch(launch)
        sweep.notify(LaunchEnded(launch))
        while pending:
            failed += _record(sweep, launch_id, _unmeasured(sweep, pending.popleft(), launch.failure))
    return failed


def _run_trial(sweep: _Sweep, launch_id: int, trial: Trial, running: RunningServer) -> int:
    done = len(sweep.store.keys())
    sweep.notify(TrialStarted(trial, done + 1, sweep.total))
    return _record(sweep, launch_id, _measure(sweep, trial, running))


def _digest(prompts: list[Prompt]) -> str:
    return sha256("\0".join(f"{p.prompt_id}\0{p.text}" for p in prompts).encode()).hexdigest()
