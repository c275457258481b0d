"""ddbench doctor [--install-sglang-cpu DIR]"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ddbench.server.doctor.capability import Capability


def doctor(
    python: Annotated[
        str | None,
        typer.Option(
            envvar="DDBENCH_SGLANG_PYTHON", help="The interpreter of an environment with SGLang."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    install_sglang_cpu: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Make an environment with SGLang for a CPU there (about 11 GB)."
        ),
    ] = None,
) -> None:
    """What this machine can run, and what is missing."""
    if install_sglang_cpu is not None:
        _install(install_sglang_cpu)
        return

    from ddbench.server.doctor.examine import examine

    found = examine(python or None)
    _print_json(found) if json else _print_table(found)
    if not any(each.is_ready for each in found if each.is_engine):
        raise typer.Exit(1)


def _install(folder: Path) -> None:
    import shlex

    from ddbench.server.doctor.install import install_sglang_cpu

    python = install_sglang_cpu(folder, say=lambda line: typer.echo(line, err=True))
    typer.echo(f"export DDBENCH_SGLANG_PYTHON={shlex.quote(str(python))}")


def _print_json(found: "list[Capability]") -> None:
    import json
    from dataclasses import asdict

    typer.echo(json.dumps([{**asdict(each), "ready": each.is_ready} for each in found], indent=2))


def _print_table(found: "list[Capability]") -> None:
    from rich.console import Console

    console = Console(soft_wrap=True, highlight=False)
    for each in found:
        mark, style = ("ready", "green") if each.is_ready else ("not here", "yellow")
        console.print(f"[{style}]{mark:>8}[/{style}]  [bold]{each.name}[/bold]")
        for line in (
            *(f"{name}: {value}" for name, value in each.facts.items()),
            *(f"missing: {what}" for what in each.missing),
            *(f"try: {what}" for what in each.advice),
        ):
            console.print(f"          {line}", markup=False)
