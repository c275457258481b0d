"""One trial of a run folder as evidence. Pure: records in, evidence out."""

import json
from collections.abc import Iterable, Mapping, Sequence

from ddbench.checks.evidence import Evidence
from ddbench.records import Environment, Launch, RunResult, StartupFact


def run_evidence(
    result: RunResult,
    launch: Launch | None,
    *,
    source: str,
    startup: Sequence[StartupFact] = (),
) -> Evidence:
    """All that is known of `result`.

    launch: the server it ran on. startup: what that server's log said before the trial. source: the
    run folder. Resolved arguments are those of /server_info, as the environment keeps them.
    """
    trial = result.trial
    environment = None if launch is None else launch.environment
    facts: Mapping[str, str] = {} if environment is None else environment.facts
    times = f", repeat {trial.repeat}" if trial.repeat else ""
    times += f", visit {trial.visit}" if trial.visit else ""
    return Evidence(
        subject=f"{trial.arm} at {trial.load.asked}{times}",
        source=source,
        arm=trial.arm,
        speculation=trial.server.speculation,
        server_version=facts.get("server.version"),
        load=trial.load,
        windows=result.log.decode,
        prefill=result.log.prefill,
        startup=(*startup, *result.log.startup),
        requests=result.requests,
        wall_s=result.wall_s,
        client=result.client,
        counters_before=result.counters_before,
        counters_after=result.counters_after,
        environment=environment,
        settings=settings_of(environment),
        server_env={
            name.removeprefix("env."): value
            for name, value in facts.items()
            if name.startswith("env.")
        },
        repeat=trial.repeat,
        visit=trial.visit,
        host=result.host,
        started_at=result.started_at,
    )


def settings_of(environment: Environment | None) -> dict[str, str]:
    """The server's resolved arguments as text; empty where /server_info gave none."""
    if environment is None or "server.args" not in environment.facts:
        return {}
    given = json.loads(environment.facts["server.args"])
    return {name: str(value) for name, value in given.items()}


def launch_of(result: RunResult, launches: Iterable[Launch]) -> Launch | None:
    """The last launch of the trial's server that became ready, on the trial's host."""
    same = [
        launch
        for launch in launches
        if launch.server == result.trial.server
        and launch.failure is None
        and launch.environment.facts.get("host.name") == result.host
    ]
    return same[-1] if same else None
