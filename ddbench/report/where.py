"""What ran where: the servers of a run and the machine."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ddbench.records import Flags, Launch, RunResult, ServerConfig
from ddbench.report.content import Fact, Where
from ddbench.report.sections import Cell, Said, Section, Sentence, Words

LONGEST = 300  # characters of a fact that a table can hold


def where_of(launches: Sequence[Launch], results: Sequence[RunResult]) -> Where:
    names = _server_names(launches, results)
    unknown = {
        name: reason for launch in launches for name, reason in launch.environment.unknown.items()
    }
    return Where(
        servers={result.trial.arm: result.trial.server for result in results},
        facts=tuple(_facts(launches, names)),
        unknown=dict(sorted(unknown.items())),
    )


def where_sections(where: Where) -> Iterator[Section]:
    """The arms' servers, the facts of the machine, and what could not be found out.

    A fact that a cell cannot hold, such as every argument of a server, is only named.
    """
    rows = tuple(_arm_row(arm, server) for arm, server in where.servers.items())
    yield Section("", header=_ARM_HEADER, rows=rows)
    if short := [fact for fact in where.facts if len(fact.value) <= LONGEST]:
        yield Section("", header=("fact", "value", "servers"), rows=tuple(map(_fact_row, short)))
    said: list[Sentence] = []
    if long := sorted({fact.name for fact in where.facts if len(fact.value) > LONGEST}):
        said.append(("In the run's database, too long for here: ", *_listed(long), "."))
    if where.unknown:
        joined: list[Words] = []
        for name, reason in where.unknown.items():
            joined += ["; " if joined else "", Said(name), " (", Said(reason), ")"]
        said.append(("Not known: ", *joined, "."))
    if said:
        yield Section("", after=tuple(said))


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


def _arm_row(arm: str, server: ServerConfig) -> tuple[Cell, ...]:
    speculation = server.speculation
    return (
        Said(arm),
        server.engine,
        Said(server.model),
        _said(server.draft_model),
        _said(speculation.algorithm),
        *(
            "-" if number is None else str(number)
            for number in (speculation.block_size, speculation.budget, speculation.topk)
        ),
        str(server.max_running_requests),
        _said(server.patches),
        _said(_settings(server.flags, server.env)),
    )


def _settings(flags: Flags, env: tuple[tuple[str, str], ...]) -> str | None:
    shown = [f"{name}={value}" for name, value in env]
    for name, value in flags:
        if value is False:
            continue
        words = value if isinstance(value, tuple) else (value,)
        shown.append(" ".join([f"--{name}", *(str(word) for word in words if word is not True)]))
    return " ".join(shown) or None


def _said(text: str | None) -> Words:
    return "-" if text is None else Said(text)


def _fact_row(fact: Fact) -> tuple[Cell, ...]:
    everywhere = fact.servers is None
    return (
        Said(fact.name),
        Said(fact.value),
        "all" if everywhere else tuple(_listed(fact.servers or ())),
    )


def _listed(names: Sequence[str]) -> list[Words]:
    words: list[Words] = [word for name in names for word in (", ", Said(name))]
    return words[1:]


def _server_names(
    launches: Sequence[Launch], results: Sequence[RunResult]
) -> Mapping[ServerConfig, tuple[str, ...]]:
    """Each launched server by the arms it served, or by its log where it served none."""
    arms: dict[ServerConfig, dict[str, None]] = defaultdict(dict)
    for result in results:
        arms[result.trial.server][result.trial.arm] = None
    return {
        launch.server: tuple(arms.get(launch.server, [launch.log_name or "-"]))
        for launch in launches
    }


def _facts(
    launches: Sequence[Launch], names: Mapping[ServerConfig, tuple[str, ...]]
) -> Iterator[Fact]:
    """One a value: launches may disagree."""
    places: dict[tuple[str, str], dict[tuple[str, ...], None]] = defaultdict(dict)
    for launch in launches:
        for fact in launch.environment.facts.items():
            places[fact][names[launch.server]] = None
    everywhere = len(set(names.values()))
    for (name, value), where in sorted(places.items()):
        arms = tuple(dict.fromkeys(arm for served in where for arm in served))
        yield Fact(name, value, None if len(where) == everywhere else arms)
