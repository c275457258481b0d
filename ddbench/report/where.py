"""What ran where: the servers of a run and the machine, as a Markdown section."""

from collections import defaultdict
from collections.abc import Sequence

from ddbench.records import Flags, Launch, RunResult, ServerConfig
from ddbench.report.gfm import LONGEST, code, table


def where_it_ran(launches: Sequence[Launch], results: Sequence[RunResult]) -> list[str]:
    """Paragraphs: the arms' servers, the facts of the machine, and what could not be found out.

    A fact that a cell cannot hold, such as every argument of a server, is only named.
    """
    parts = [table(_ARM_HEADER, _arm_rows(results))]
    names = _server_names(launches, results)
    facts = _facts(launches, names)
    if short := [fact for fact in facts if len(fact[1]) <= LONGEST]:
        rows = [(code(name), code(value), servers) for name, value, servers in short]
        parts.append(table(("fact", "value", "servers"), rows))
    if long := sorted({name for name, value, _ in facts if len(value) > LONGEST}):
        parts.append(f"In the run's database, too long for here: {', '.join(map(code, long))}.")
    if unknown := _unknown(launches):
        parts.append("Not known: " + "; ".join(unknown) + ".")
    return parts


_ARM_HEADER = (
    "arm",
    "engine",
    "model",
    "draft model",
    "algorithm",
    "block",
    "budget",
    "topk",
    "max running",
    "patches",
    "flags and environment",
)


def _arm_rows(results: Sequence[RunResult]) -> list[list[str]]:
    servers = {result.trial.arm: result.trial.server for result in results}
    return [_arm_row(arm, server) for arm, server in servers.items()]


def _arm_row(arm: str, server: ServerConfig) -> list[str]:
    speculation = server.speculation
    return [
        code(arm),
        server.engine,
        code(server.model),
        _code_or_dash(server.draft_model),
        _code_or_dash(speculation.algorithm),
        *(
            "-" if number is None else str(number)
            for number in (speculation.block_size, speculation.budget, speculation.topk)
        ),
        str(server.max_running_requests),
        _code_or_dash(server.patches),
        _code_or_dash(_settings(server.flags, server.env)),
    ]


def _settings(flags: Flags, env: tuple[tuple[str, str], ...]) -> str | None:
    shown = [f"{name}={value}" for name, value in env]
    for name, value in flags:
        words = value if isinstance(value, tuple) else (value,)
        shown.append(" ".join([f"--{name}", *(str(word) for word in words if word is not True)]))
    return " ".join(shown) or None


def _code_or_dash(text: str | None) -> str:
    return "-" if text is None else code(text)


def _server_names(
    launches: Sequence[Launch], results: Sequence[RunResult]
) -> dict[ServerConfig, str]:
    """Each launched server by the arms it served, or by its log where it served none."""
    arms: dict[ServerConfig, dict[str, None]] = defaultdict(dict)
    for result in results:
        arms[result.trial.server][result.trial.arm] = None
    return {
        launch.server: ", ".join(map(code, arms.get(launch.server, [launch.log_name or "-"])))
        for launch in launches
    }


def _facts(
    launches: Sequence[Launch], names: dict[ServerConfig, str]
) -> list[tuple[str, str, str]]:
    """(name, value, where it was so), one a value: launches may disagree."""
    places: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for launch in launches:
        for fact in launch.environment.facts.items():
            places[fact][names[launch.server]] = None
    everywhere = len(set(names.values()))
    return [
        (name, value, "all" if len(where) == everywhere else ", ".join(where))
        for (name, value), where in sorted(places.items())
    ]


def _unknown(launches: Sequence[Launch]) -> list[str]:
    reasons = {
        name: reason for launch in launches for name, reason in launch.environment.unknown.items()
    }
    return [f"{code(name)} ({code(reasons[name])})" for name in sorted(reasons)]
