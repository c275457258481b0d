"""What drafts, read off a server's resolved arguments."""

from collections.abc import Mapping

from ddbench.records import Speculation

ABSENT = ("", "None", "null")


def speculation_from(settings: Mapping[str, str]) -> Speculation | None:
    """The drafting setting that the arguments state; None where they do not say.

    block_size is known for the DFLASH family only, whose num_draft_tokens it is for a line.
    """
    if "speculative_algorithm" not in settings:
        return None
    algorithm = settings["speculative_algorithm"]
    if algorithm in ABSENT:
        return Speculation()
    if algorithm not in ("DFLASH", "DDTREE"):
        return Speculation(algorithm)
    block = _number(settings, "speculative_dflash_block_size")
    budget = _number(settings, "speculative_ddtree_budget")
    if block is None and budget is None:
        block = _number(settings, "speculative_num_draft_tokens")
    return Speculation(algorithm, block, budget, _number(settings, "speculative_ddtree_topk"))


def _number(settings: Mapping[str, str], name: str) -> int | None:
    value = settings.get(name, "")
    return int(value) if value.isdigit() else None
