"""Which arms a run has, and which of them are held against each other."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ddbench.errors import NotComparable
from ddbench.records import Launch, RunResult, ServerConfig, Speculation


@dataclass(frozen=True, slots=True)
class ComparedArm:
    """One arm of one run: its server, every launch's facts, and its done trials that were timed.

    settings: the server's resolved arguments under SGLang's names; a name on which two launches
    disagree is left out of it and named in `unsteady`.
    """

    name: str
    run: str
    server: ServerConfig
    facts: Mapping[str, str]
    settings: Mapping[str, str]
    trials: tuple[RunResult, ...]
    unsteady: tuple[str, ...] = field(default=())

    @property
    def speculation(self) -> Speculation:
        return self.server.speculation

    @property
    def is_plain(self) -> bool:
        return self.speculation.algorithm is None

    @property
    def is_linear(self) -> bool:
        return not self.is_plain and self.speculation.budget is None

    @property
    def is_tree(self) -> bool:
        return self.speculation.budget is not None

    @property
    def is_chain(self) -> bool:
        """A tree with one candidate a depth, deep enough to be the linear draft."""
        block, budget = self.speculation.block_size, self.speculation.budget
        return self.is_tree and self.speculation.topk == 1 and (budget or 0) >= (block or 0) - 1

    @property
    def concurrencies(self) -> list[int]:
        """Of its closed loops; an open one asks for none."""
        return sorted({c for trial in self.trials if (c := trial.trial.load.concurrency)})

    def at(self, concurrency: int) -> tuple[RunResult, ...]:
        """Its trials in the order of visits and repeats."""
        found = [t for t in self.trials if t.trial.load.concurrency == concurrency]
        return tuple(sorted(found, key=lambda t: (t.trial.visit, t.trial.repeat)))


def arms_of(
    run: str, launches: Iterable[Launch], results: Iterable[RunResult]
) -> list[ComparedArm]:
    """In the order they ran. Failed trials and probes, which are never timed, are left out."""
    servers: dict[str, ServerConfig] = {}
    trials: dict[str, list[RunResult]] = {}
    for result in results:
        probe = result.trial.load.record_drafts or result.trial.server.record_drafts
        if result.failure is None and not probe:
            servers[result.trial.arm] = result.trial.server
            trials.setdefault(result.trial.arm, []).append(result)
    started = [launch for launch in launches if launch.failure is None]
    return [
        _arm(name, run, server, [x for x in started if x.server == server], trials[name])
        for name, server in servers.items()
    ]


def _arm(
    name: str,
    run: str,
    server: ServerConfig,
    launches: Sequence[Launch],
    trials: Sequence[RunResult],
) -> ComparedArm:
    facts, odd_facts = _agreed([launch.environment.facts for launch in launches])
    settings, odd_settings = _agreed([_settings(launch) for launch in launches])
    odd = [name for name in odd_facts if not name.startswith("server.")] + odd_settings
    return ComparedArm(name, run, server, facts, settings, tuple(trials), tuple(odd))


_CHANGES_EACH_LAUNCH = frozenset({"port", "nccl_port", "random_seed"})


def _agreed(sides: Sequence[Mapping[str, str]]) -> tuple[dict[str, str], list[str]]:
    """What every launch says alike, and the names on which they do not agree."""
    agreed: dict[str, str] = {}
    odd: list[str] = []
    for name in {name: None for side in sides for name in side}:
        values = {side[name] for side in sides if name in side}
        if len(values) == 1:
            agreed[name] = values.pop()
        elif name not in _CHANGES_EACH_LAUNCH:
            odd.append(name)
    return agreed, odd


def _settings(launch: Launch) -> dict[str, str]:
    text = launch.environment.facts.get("server.args")
    if text is None:
        return {}
    try:
        data = json.loads(text)
    except ValueError:  # a server that someone else wrote
        return {}
    return {name: _plain(value) for name, value in data.items()} if isinstance(data, dict) else {}


def _plain(value: object) -> str:
    """As text; JSON for what is not a scalar, so that order and nesting count."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def linear_arm(
    arms: Sequence[ComparedArm], name: str | None, *, beside: ComparedArm
) -> ComparedArm:
    """The arm called `name`, or the linear one that is most like `beside`.

    Most like: of its block size, then of its drafter, then with the fault planted in it, then with
    overlap scheduling and graphs as it has them, then with its patches; the first of equals.
    Raises NotComparable where there is none.
    """
    if (named := _named(arms, name, "--linear")) is not None:
        return named
    found = [arm for arm in arms if arm.is_linear]
    _first(arms, found, "linear", "--linear")
    return max(found, key=lambda arm: _likeness(arm, beside))


_OFTEN_FORCED = ("disable_overlap_schedule", "disable_cuda_graph")  # by the patch of a tree


def _likeness(arm: ComparedArm, other: ComparedArm) -> tuple[bool, ...]:
    return (
        arm.speculation.block_size == other.speculation.block_size,
        arm.server.draft_model == other.server.draft_model,
        arm.settings.get("fault") == other.settings.get("fault"),
        all(arm.settings.get(name) == other.settings.get(name) for name in _OFTEN_FORCED),
        arm.server.patches == other.server.patches,
    )


def tree_arms(arms: Sequence[ComparedArm], name: str | None) -> list[ComparedArm]:
    """The arm called `name`, or every tree. Raises NotComparable where there is none."""
    if (found := _named(arms, name, "--tree")) is not None:
        return [found]
    trees = [arm for arm in arms if arm.is_tree]
    return [_first(arms, trees, "tree", "--tree"), *trees[1:]]


def plain_arm(arms: Sequence[ComparedArm], beside: ComparedArm) -> ComparedArm | None:
    """The autoregressive arm to hold `beside` against: of its own run before any other."""
    plain = [arm for arm in arms if arm.is_plain]
    return next((arm for arm in plain if arm.run == beside.run), next(iter(plain), None))


def _named(arms: Sequence[ComparedArm], name: str | None, option: str) -> ComparedArm | None:
    if name is None:
        return None
    for arm in arms:
        if arm.name == name:
            return arm
    raise NotComparable(
        f"no arm called {name!r} has a done trial",
        remedy=f"Give {option} one of: {', '.join(arm.name for arm in arms) or 'none there'}.",
    )


def _first(
    arms: Sequence[ComparedArm], found: Sequence[ComparedArm], kind: str, option: str
) -> ComparedArm:
    if found:
        return found[0]
    raise NotComparable(
        f"no {kind} arm has a done trial",
        remedy=(
            f"Add one to the sweep, or name an arm with {option}: "
            f"{', '.join(arm.name for arm in arms) or 'none there'}."
        ),
    )
