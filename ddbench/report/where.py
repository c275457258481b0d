"""What ran where: the servers of a run and the machine, as a Markdown section."""

from collections import defaultdict
from collections.abc import Sequence

from ddbench.records import Flags, Launch, RunResult, ServerConfig
from ddbench.report.gfm import code, table

Fact = tuple[str, str]


def where_it_ran(launches: Sequence[Launch], results: Sequence[RunResult]) -> list[str]:
    """Paragraphs: the arms' servers, the facts of the machine, and what could not be found out."""
    parts = [table(_ARM_HEADER, _arm_rows(results))]
    if facts := _facts(launches):
        parts.append(table(("fact", "value"), [(code(name), text) for name, text in facts]))
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


def _facts(launches: Sequence[Launch]) -> list[Fact]:
    """Each fact once; where launches disagree, every value it had."""
    values: dict[str, dict[str, None]] = defaultdict(dict)
    for launch in launches:
        for name, value in launch.environment.facts.items():
            values[name][value] = None
    return [(name, "; ".join(map(code, values[name]))) for name in sorted(values)]


def _unknown(launches: Sequence[Launch]) -> list[str]:
    reasons = {
        name: reason for launch in launches for name, reason in launch.environment.unknown.items()
    }
    return [f"{code(name)} ({code(reasons[name])})" for name in sorted(reasons)]
