"""The flow of a sweep on one page: plan -> executor (server, load, logs) -> runs.

The executor alone knows on which machines servers run. What comes back is stored here, by the one
writer of the run, before anyone is told of it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ddbench.events import Event, LaunchEnded, LaunchEvent, OnHost, PassStarted, TrialEnded
from ddbench.executors.executor import Executor, Record, Versions
from ddbench.executors.local import LocalExecutor
from ddbench.load.prompts import prompts_digest, read_prompts
from ddbench.plan.expand import expand
from ddbench.plan.key import trial_key
from ddbench.plan.selection import EVERYTHING, Selection
from ddbench.records import Prompt, SweepPlan, Trial
from ddbench.runs.repeats import Repeats
from ddbench.runs.store import RunStore

Notify = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    failed: int  # trials that were begun, and have no valid result
    left: int  # trials that were not asked for this time, and have none either


def run_sweep(
    plan: SweepPlan,
    folder: Path,
    *,
    notify: Notify,
    executor: Executor | None = None,
    resume: bool = False,
    retries: int = 0,
    only: Selection = EVERYTHING,
) -> Outcome:
    """Run every trial of `plan` that `folder` has no valid result of; by default on this machine.

    A server that does not start, or dies, fails its trials and the sweep goes on; failed trials
    are tried again `retries` times. What cannot work at all (no prompts, a taken port, a folder
    that holds something else) is raised before anything starts.
    """
    executor = LocalExecutor() if executor is None else executor
    asked = only.of(plan)
    prompts = read_prompts(plan.loads[0].prompts, plan.loads[0].count)
    if resume:
        with RunStore.resume(folder):  # nobody else is at it
            executor.stop_leftovers(folder)
    executor.require_runnable(dict.fromkeys(plan.servers))
    with (
        RunStore.resume(folder) if resume else RunStore.create(folder, plan) as store,
        executor.at_work(folder),
    ):
        sweep = _Sweep(plan, prompts, store, executor, notify)
        trials = sweep.not_done(asked)[: only.limit]
        for _ in range(1 + retries):
            todo = sweep.not_done(trials)
            notify(PassStarted(tuple(todo)))
            executor.run(todo, sweep)
        failed = len(sweep.not_done(trials))
        return Outcome(failed, left=len(sweep.not_done(expand(plan))) - failed)


def not_done(
    plan: SweepPlan, store: RunStore, only: Selection, executor: Executor | None = None
) -> list[Trial]:
    """What run_sweep would run now, in its order, if every trial succeeded at once."""
    prompts = read_prompts(plan.loads[0].prompts, plan.loads[0].count)
    sweep = _Sweep(plan, prompts, store, executor or LocalExecutor(), lambda _: None)
    return sweep.not_done(only.of(plan))[: only.limit]


class _Sweep:
    """A SweepUnderWay."""

    def __init__(
        self,
        plan: SweepPlan,
        prompts: Sequence[Prompt],
        store: RunStore,
        executor: Executor,
        notify: Notify,
    ) -> None:
        self.prompts = tuple(prompts)
        self._store = store
        self._executor = executor
        self._notify = notify
        self._digest = prompts_digest(self.prompts)
        self._repeats = Repeats(plan.until)
        if plan.until is not None:
            for result in store.results():
                if result.key in self._keys(result.trial):
                    self._repeats.take(result)

    def not_done(self, trials: list[Trial]) -> list[Trial]:
        done = self._store.done_keys()
        left = [trial for trial in trials if done.isdisjoint(self._keys(trial))]
        return [trial for trial in left if not self.is_spared(trial)]

    def is_spared(self, trial: Trial) -> bool:
        return self._repeats.are_enough(trial)

    def versions(self, identity: Mapping[str, str]) -> Versions:
        return {**identity, "prompts": self._digest}

    def new_launch(self, arm: str, host: str | None = None) -> tuple[Path, Record]:
        launch_ids: list[int] = []

        def record(event: LaunchEvent) -> None:
            if isinstance(event, LaunchEnded):
                launch_ids.append(self._store.add_launch(event.launch))
            elif isinstance(event, TrialEnded):
                self._store.add_result(launch_ids[-1], event.result)
                self._repeats.take(event.result)
            self._notify(event if host is None else OnHost(host, event))

        log_path = self._store.new_log_path(arm)
        if host is not None:
            log_path.touch()  # so that another host's launch gets another name
        return log_path, record

    def _keys(self, trial: Trial) -> list[str]:
        """Under which its result may be stored: one a kind of machine."""
        identities = self._executor.identities(trial.server)
        return [trial_key(trial, self.versions(identity)) for identity in identities]
