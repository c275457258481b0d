"""ddbench patch list | status | apply | verify | remove [--python PATH] [NAME]"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ddbench.patching.patched_copy import PatchedCopy

app = typer.Typer(no_args_is_help=True, help="Patches for SGLang, applied to a copy of it.")

Name = Annotated[
    str, typer.Argument(metavar="[NAME]", help="ddtree, or a folder of sglang-<version> folders.")
]
Python = Annotated[
    str | None,
    typer.Option(envvar="DDBENCH_SGLANG_PYTHON", help="The interpreter that has SGLang."),
]
Cache = Annotated[
    Path | None, typer.Option(help="Where copies are.", show_default="$DDBENCH_CACHE_DIR/patched")
]
Json = Annotated[bool, typer.Option("--json", help="For programs.")]


@app.command("list")
def list_series(name: Name = "ddtree", as_json: Json = False) -> None:
    """The patches of a series, for every SGLang version that it is made for."""
    from ddbench.patching.series import available

    found = available(name)
    if as_json:
        _print_json(
            [
                {
                    "series": each.name,
                    "sglang_version": each.sglang_version,
                    "sha256": each.sha256,
                    "patches": [patch.name for patch in each.patches],
                    "files": list(each.touched()),
                }
                for each in found
            ]
        )
        return
    for each in found:
        typer.echo(
            f"{each.name} for sglang {each.sglang_version}: {len(each.patches)} patches, "
            f"{len(each.touched())} files, {each.sha256[:16]}"
        )
        for patch in each.patches:
            typer.echo(f"  {patch.name}")


@app.command("status")
def status(
    name: Name = "ddtree", python: Python = None, cache: Cache = None, as_json: Json = False
) -> None:
    """Whether the series fits the SGLang that is installed, and which copies there are."""
    from ddbench.errors import PatchError
    from ddbench.patching.cache import cache_folder
    from ddbench.patching.copies import copies, size_bytes, users
    from ddbench.patching.installed import find_installed
    from ddbench.patching.series import available, series_for

    available(name)  # a misspelt name is refused
    installed = find_installed(_named(python))
    try:
        series_for(name, installed.version).result(installed.site_packages)
        fits = None
    except PatchError as error:
        fits = str(error)
    there = [
        {
            "folder": str(copy.folder),
            "sglang_version": copy.manifest.sglang_version,
            "series_sha256": copy.manifest.series_sha256,
            "copied_from": copy.manifest.copied_from,
            "made_at": copy.manifest.made_at,
            "size_bytes": size_bytes(copy.folder),
            "used_by": users(copy.folder),
        }
        for copy in copies(cache or cache_folder(), name)
    ]
    if as_json:
        found = {
            "python": installed.python,
            "sglang_version": installed.version,
            "package": str(installed.package),
            "fits": fits is None,
            "why_not": fits,
            "copies": there,
        }
        _print_json(found)
        return
    typer.echo(f"sglang {installed.version} in {installed.package}")
    typer.echo(f"series {name}: {'fits' if fits is None else f'does not fit: {fits}'}")
    for one in there:
        used = f", used by process {one['used_by']}" if one["used_by"] else ""
        typer.echo(f"copy {one['folder']}, {int(str(one['size_bytes'])) / 1e6:.0f} MB{used}")
        typer.echo(f"  of {one['copied_from']}, made {one['made_at']}")
    if not there:
        typer.echo("no copy; `ddbench patch apply` makes it, and so does a sweep that needs it")


@app.command("apply")
def apply(
    name: Name = "ddtree", python: Python = None, cache: Cache = None, as_json: Json = False
) -> None:
    """Make the patched copy, or find it; prints its folder, which goes on a PYTHONPATH."""
    from ddbench.patching.patched_copy import apply_series

    copy = apply_series(name, _named(python), cache=cache, say=_say)
    if as_json:
        _print_json({"folder": str(copy.folder), **_about(copy)})
        return
    _say(f"{name} on sglang {copy.manifest.sglang_version}; the installation is untouched")
    typer.echo(copy.folder)


@app.command("verify")
def verify(
    name: Name = "ddtree", python: Python = None, cache: Cache = None, as_json: Json = False
) -> None:
    """Whether copies, installation and series are unchanged; exit code 1 where one is not."""
    from ddbench.errors import PatchError
    from ddbench.patching.cache import cache_folder
    from ddbench.patching.copies import copies, what_changed
    from ddbench.patching.series import available

    found = _of(python, copies(cache or cache_folder(), name))
    if not found:
        available(name)  # a misspelt name is refused
        raise PatchError(
            f"there is no copy of series {name}" + (f" for {python}" if python else ""),
            remedy=f"Run `ddbench patch apply {name}`.",
        )
    report = {str(copy.folder): what_changed(copy) for copy in found}
    if as_json:
        _print_json(report)
    else:
        for folder, changes in report.items():
            typer.echo(f"{folder}: {'changed' if changes else 'unchanged'}")
            for change in changes:
                typer.echo(f"  {change}")
    if any(report.values()):
        raise typer.Exit(1)


@app.command("remove")
def remove(
    name: Name = "ddtree",
    cache: Cache = None,
    python: Annotated[
        str | None, typer.Option(help="Only the copies of this interpreter's SGLang.")
    ] = None,
) -> None:
    """Remove the copies of a series; a server that runs from one is a refusal."""
    from ddbench.patching.cache import cache_folder
    from ddbench.patching.copies import copies
    from ddbench.patching.copies import remove as remove_copies
    from ddbench.patching.series import available

    root = cache or cache_folder()
    found = _of(python, copies(root, name))
    if not found:
        available(name)  # a misspelt name is refused
        typer.echo(f"no copy of series {name}", err=True)
        return
    for folder in remove_copies(root, [copy.folder for copy in found], say=_say):
        typer.echo(folder)


def _named(python: str | None) -> str:
    from ddbench.errors import PatchError

    if not python:
        raise PatchError(
            "no interpreter of an environment with SGLang was named",
            remedy="Give --python PATH, or set $DDBENCH_SGLANG_PYTHON.",
        )
    return python


def _of(python: str | None, found: "list[PatchedCopy]") -> "list[PatchedCopy]":
    """Those that were made of this interpreter's SGLang; all, where none is named."""
    from ddbench.patching.installed import find_installed

    if not python:
        return found
    source = str(find_installed(python).site_packages)
    return [copy for copy in found if copy.manifest.copied_from == source]


def _about(copy: "PatchedCopy") -> dict[str, object]:
    from dataclasses import asdict

    return {key: value for key, value in asdict(copy.manifest).items() if key != "files"}


def _print_json(found: object) -> None:
    import json

    typer.echo(json.dumps(found, indent=2))


def _say(line: str) -> None:
    typer.echo(line, err=True)
