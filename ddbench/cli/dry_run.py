"""ddbench sweep --dry-run: what a sweep would do, and how long as far as that is known."""

from collections.abc import Iterator, Sequence
from shlex import join

from ddbench.errors import PatchError, PlanError
from ddbench.patching.launch import foretold_patches
from ddbench.plan.argv import server_command
from ddbench.plan.expand import by_launch
from ddbench.records import RepeatRule, ServerConfig, Trial
from ddbench.runs.estimate import Estimate


def dry_run_lines(
    trials: Sequence[Trial], estimate: Estimate, until: RepeatRule | None = None
) -> Iterator[str]:
    """Every launch with its command and its trials, in order, then the sums.

    until: what may end repeats before all of them were run.
    """
    launches = list(by_launch(trials))
    for number, (server, group) in enumerate(launches, start=1):
        arms = ", ".join(dict.fromkeys(trial.arm for trial in group))
        yield f"launch {number}: {arms} (visit {group[0].visit + 1})"
        yield from (f"  {line}" for line in _command(server))
        for repeat in dict.fromkeys(trial.repeat for trial in group):
            loads = [trial.load.asked for trial in group if trial.repeat == repeat]
            yield f"  repeat {repeat + 1}: {', '.join(loads)}"
    requests = sum(trial.load.count for trial in trials)
    tokens = sum(trial.load.count * trial.load.max_new_tokens for trial in trials)
    yield (
        f"{len(launches)} launches, {len(trials)} trials, {requests} requests, "
        f"at most {tokens} generated tokens"
    )
    yield from _time(estimate, launches, len(trials))
    if until is not None and trials:
        yield (
            f"  at most: repeats of a trial end once its {until.metric} is known to "
            f"{until.within:.1%}"
        )


def _time(
    estimate: Estimate, launches: Sequence[tuple[ServerConfig, Sequence[Trial]]], trials: int
) -> Iterator[str]:
    if not trials:
        yield "nothing is left to run"
        return
    if estimate.unknown_trials == trials and estimate.unknown_launches == len(launches):
        yield "time: not known, since nothing of this sweep was measured yet"
        yield "  `--limit 1` measures one trial; `--resume RUN --dry-run` then knows more"
        return
    yield f"time: about {_spoken(estimate.known_s)} by what was measured so far, without warm-ups"
    if estimate.borrowed:
        yield (
            f"  assumed: {estimate.borrowed} trials take as long as the slowest other arm "
            "at the same load"
        )
    if estimate.unknown_launches:
        most_s = max(server.ready_timeout_s for server, _ in launches)
        yield (
            f"  not counted: {estimate.unknown_launches} launches of servers that never started "
            f"here; each may take {_spoken(most_s)}"
        )
    if estimate.unknown_trials:
        yield f"  not counted: {estimate.unknown_trials} trials at loads that nobody measured yet"


def _command(server: ServerConfig) -> Iterator[str]:
    if server.engine == "attach":
        yield f"attach to {server.base_url}"
        return
    try:
        command = server_command(server, port=server.port or 0)
    except PlanError as error:  # a dry run tells what it can, also on another machine
        yield f"no command on this machine: {error}"
        return
    yield join(command.argv).replace("--port 0", "--port <a free one>")
    if server.patches is not None:
        try:
            yield f"patches: {foretold_patches(command, server)}"
        except PatchError as error:
            yield f"no patches on this machine: {error}"


def _spoken(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
