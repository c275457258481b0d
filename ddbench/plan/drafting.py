"""block_size, budget and topk of one arm: what can be drafted, and what cannot."""

from collections.abc import Mapping
from itertools import product

from ddbench.plan.argv import SETTINGS, spelling
from ddbench.plan.marked_yaml import Marked
from ddbench.plan.process_settings import Dialect
from ddbench.records import FlagValue, Speculation

_REQUIRED = {
    "autoregressive": (),
    "linear": ("block_size",),
    "tree": ("block_size", "budget", "topk"),
}


def read_speculations(
    kind: str,
    section: Marked,
    algorithm: str | None,
    *,
    dialect: Dialect,
    flags: Mapping[str, FlagValue],
) -> list[Speculation]:
    """Every combination that the arm's lists stand for. `kind` is its key in the sweep file.

    Raises PlanError for a setting that is missing, that the server cannot be told, that `flags`
    say as well, or that no tree can have.
    """
    names = spelling(algorithm, dialect)
    settings = _settings(kind, section, algorithm, names)
    _refuse_two_voices(section, flags, settings, names)
    speculations = [
        Speculation(algorithm, **dict(zip(settings, values, strict=True)))
        for values in product(*settings.values())
    ]
    for speculation in speculations:
        _refuse_unfillable(section, speculation)
    return speculations


def _settings(
    kind: str, section: Marked, algorithm: str | None, names: Mapping[str, tuple[str, str]]
) -> dict[str, tuple[int, ...]]:
    """block_size, budget and topk as far as they are given; each has at least one value."""
    entries = section.mapping()
    for setting in _REQUIRED.get(kind, ()):
        if setting not in entries:
            raise section.error(
                f"a {kind} arm needs `{setting}`",
                remedy=f"Write all of {', '.join(_REQUIRED[kind])}.",
            )
    settings: dict[str, tuple[int, ...]] = {}
    for setting in SETTINGS:
        if setting not in entries:
            continue
        if setting not in names:
            raise entries[setting].error(
                f"{algorithm or 'an autoregressive arm'} has no {setting}",
                remedy="Remove it; set what the algorithm needs by its own `flags`, or say by "
                "`dialect` how your server spells it.",
            )
        settings[setting] = entries[setting].integers(at_least=2 if setting == "block_size" else 1)
    if ("budget" in settings) != ("topk" in settings):
        given, other = ("budget", "topk") if "budget" in settings else ("topk", "budget")
        raise entries[given].error(
            f"{given} without {other} leaves the tree's shape to the server",
            remedy=f"Give `{other}` as well.",
        )
    if "budget" in settings and "block_size" not in settings:
        raise entries["budget"].error(
            "a tree's depth comes from the block size, which is missing",
            remedy="Give `block_size` as well.",
        )
    return settings


def _refuse_two_voices(
    section: Marked,
    flags: Mapping[str, FlagValue],
    settings: Mapping[str, tuple[int, ...]],
    names: Mapping[str, tuple[str, str]],
) -> None:
    for setting in settings:
        kind, name = names[setting]
        if kind == "flag" and name in flags:
            raise section.error(
                f"`{setting}` and the flag {name} say the same thing twice",
                remedy=f"Remove the flag and keep `{setting}`.",
            )


def _refuse_unfillable(section: Marked, speculation: Speculation) -> None:
    if speculation.budget is None or speculation.topk is None or speculation.block_size is None:
        return
    largest = largest_tree(speculation.topk, depth=speculation.block_size - 1)
    if speculation.budget > largest:
        raise section.error(
            f"a tree of topk {speculation.topk} and block size {speculation.block_size} has no "
            f"{speculation.budget} nodes",
            remedy=f"Lower the budget to {largest}, the most that it can hold, or raise topk.",
        )


def largest_tree(topk: int, *, depth: int) -> int:
    """Nodes below the root of a full tree: topk + topk^2 + ... + topk^depth."""
    return depth if topk == 1 else topk * (topk**depth - 1) // (topk - 1)
