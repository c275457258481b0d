"""Where the shipped weights lie, and what a drafter's config.json says. Reads no weights."""

import json
from importlib.resources import files
from pathlib import Path

SHIPPED = {
    "builtin": ("target", "drafter"),
    "builtin:undertrained": (None, "drafter-undertrained"),
}
"""Name in a sweep file -> its folder as a model, as a drafter; None where it is not one."""


def model_folder(model: str) -> str:
    """The path to give to a server: the shipped target's for `builtin`, else `model` itself."""
    shipped, _ = SHIPPED.get(model, (None, None))
    return _shipped_folder(shipped) if shipped else model


def drafter_folder(draft_model: str) -> str:
    _, shipped = SHIPPED.get(draft_model, (None, None))
    return _shipped_folder(shipped) if shipped else draft_model


def drafter_block_size(draft_model: str) -> int | None:
    """`block_size` of the drafter's config.json; None where that cannot be read here.

    The drafter may be a name on a hub, or a path on another host.
    """
    config = Path(drafter_folder(draft_model)) / "config.json"
    try:
        block_size = json.loads(config.read_text(encoding="utf-8"))["block_size"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return block_size if isinstance(block_size, int) else None


def _shipped_folder(name: str) -> str:
    # The engine's folder without the engine: importing it would load torch.
    return str(files("ddbench") / "engine" / "weights" / name)
