"""The command of a server whose config asks for patches."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from ddbench.errors import PatchError
from ddbench.patching.installed import find_installed
from ddbench.patching.patched_copy import PatchedCopy, apply_series, nothing_said, on_path
from ddbench.patching.series import series_for
from ddbench.records import PATCH_MANIFEST, ServerCommand, ServerConfig


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
    asked = (config.patches, config.python, command.env.get("PYTHONPATH"), say)
    copy = _copy(*asked)
    if not (copy.folder / PATCH_MANIFEST).is_file():
        # Somebody removed it between two launches. A server would start all the same, unpatched.
        _copy.cache_clear()
        copy = _copy(*asked)
    path = on_path(copy.folder, command.env)
    return replace(command, env={**command.env, "PYTHONPATH": path})


def foretold_patches(command: ServerCommand, config: ServerConfig) -> str:
    """What with_patches would apply and to what, in a line; nothing is made. Raises PatchError."""
    assert config.patches is not None
    assert config.python is not None
    installed = find_installed(config.python, env=command.env)
    series = series_for(config.patches, installed.version)
    series.result(installed.site_packages)
    return (
        f"{config.patches}, {len(series.patches)} patches ({series.sha256[:16]}), on a copy of "
        f"{installed.package} ({installed.version})"
    )


@cache
def _copy(
    name: str, python: str, python_path: str | None, say: Callable[[str], None]
) -> PatchedCopy:
    env = {} if python_path is None else {"PYTHONPATH": python_path}
    return apply_series(name, python, env=env, say=say)
