"""The command of a server whose config asks for patches."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from ddbench.errors import PatchError
from ddbench.patching.patched_copy import PatchedCopy, apply_series, nothing_said, on_path
from ddbench.records import ServerCommand, ServerConfig


def with_patches(
    command: ServerCommand, config: ServerConfig, *, say: Callable[[str], None] = nothing_said
) -> ServerCommand:
    """The command, with a patched copy on its PYTHONPATH where the config asks for one.

    The copy is made when it is not there yet. One process asks once for each series, interpreter
    and environment: all launches of a sweep get the same copy. Raises PatchError.
    """
    if config.patches is None:
        return command
    if config.engine != "sglang" or config.python is None:
        raise PatchError(
            f"engine: {config.engine} has no SGLang to patch",
            remedy="Remove `patches`, or set engine: sglang.",
        )
    copy = _copy(config.patches, config.python, tuple(sorted(command.env.items())), say)
    return replace(command, env={**command.env, "PYTHONPATH": on_path(copy.folder, command.env)})


@cache
def _copy(
    name: str, python: str, env: tuple[tuple[str, str], ...], say: Callable[[str], None]
) -> PatchedCopy:
    return apply_series(name, python, env=dict(env), say=say)
