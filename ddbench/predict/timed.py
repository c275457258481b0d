"""Whose speeds may stand beside each other in a prediction: servers that differ in drafting alone.

Every arm whose text was recorded tells what it accepts. A step's time also goes by flags, variables
and patches, which arms may set for themselves, and a mean over two such builds is no one's.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ddbench.predict.recorded import RecordedArm
from ddbench.records import RunResult, ServerConfig

OF_NO_CONSEQUENCE = frozenset({"decode-log-interval", "log-level", "log-level-http"})
"""Flags that change what a server says, and not how fast it is."""

_SetUp = tuple[object, object]


@dataclass(frozen=True, slots=True)
class Timed:
    """Results to take step times from. notes: what was left out, and what is still unlike."""

    results: tuple[RunResult, ...]
    notes: tuple[str, ...]


def timed_alike(recorded: RecordedArm, results: Sequence[RunResult]) -> Timed:
    """The results of one set-up: the recording's own if it was timed, else that of most trees.

    Of those, trees of one build (the most frequent), and arms without trees of that build where
    there are such; where a kind has none of it, another's are kept and named.
    """
    timed = [
        result
        for result in results
        if recorded.speaks_for(result.trial.server) and not result.trial.load.record_drafts
    ]
    arms = {result.trial.arm: result.trial.server for result in timed}
    kept = _of_one_build(_of_one_set_up(recorded.server, arms))
    alike = tuple(result for result in timed if result.trial.arm in kept)
    return Timed(alike, tuple(_notes(arms, kept, alike)))


def build_name(server: ServerConfig) -> str:
    return "no patches" if server.patches is None else f"patches {server.patches}"


def _of_one_set_up(own: ServerConfig, arms: dict[str, ServerConfig]) -> dict[str, ServerConfig]:
    trees = Counter(_set_up(server) for server in arms.values() if _is_tree(server))
    set_ups = dict.fromkeys(map(_set_up, arms.values()))
    if not set_ups:
        return {}
    chosen = max(set_ups, key=lambda set_up: (set_up == _set_up(own), trees[set_up]))
    return {name: server for name, server in arms.items() if _set_up(server) == chosen}


def _of_one_build(arms: dict[str, ServerConfig]) -> dict[str, ServerConfig]:
    trees = Counter(server.patches for server in arms.values() if _is_tree(server))
    if not trees:
        return arms
    build = trees.most_common(1)[0][0]
    has_it = {_kind(server) for server in arms.values() if server.patches == build}
    return {
        name: server
        for name, server in arms.items()
        if server.patches == build or _kind(server) not in has_it
    }


def _notes(
    arms: dict[str, ServerConfig], kept: dict[str, ServerConfig], alike: Sequence[RunResult]
) -> Iterator[str]:
    if left_out := [name for name in arms if name not in kept]:
        yield (
            f"Left out of all speeds: {', '.join(left_out)}, whose flags, variables or patches are "
            f"not those of {', '.join(kept)}."
        )
    tree = next((server for server in kept.values() if _is_tree(server)), None)
    if tree is not None:
        for name, server in kept.items():
            if server.patches != tree.patches:
                yield (
                    f"{name} ran with {build_name(server)}, the trees with {build_name(tree)}: "
                    "what lies between their speeds may be the patches'."
                )
    hosts: dict[str, set[str]] = {}
    for result in alike:
        hosts.setdefault(result.trial.arm, set()).add(result.host or "")
    if len(set(map(frozenset, hosts.values()))) > 1:
        named = "; ".join(f"{arm}: {', '.join(sorted(on))}" for arm, on in hosts.items())
        yield f"Arms were timed on different hosts, and hosts differ ({named})."


def _set_up(server: ServerConfig) -> _SetUp:
    flags = tuple(sorted((k, repr(v)) for k, v in server.flags if k not in OF_NO_CONSEQUENCE))
    return flags, tuple(sorted(server.env))


def _kind(server: ServerConfig) -> str:
    if server.speculation.algorithm is None:
        return "autoregressive"
    return "tree" if _is_tree(server) else "linear"


def _is_tree(server: ServerConfig) -> bool:
    return server.speculation.budget is not None
