"""ddbench doctor [--install-sglang-cpu DIR] [--address HOST:PORT]"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ddbench.executors.on_ray.values import Host
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
    address: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="What each host of this Ray cluster can run."),
    ] = None,
    ship_code: Annotated[
        bool, typer.Option("--ship-code", help="Send this ddbench to hosts without it.")
    ] = False,
) -> None:
    """What this machine can run, and what is missing."""
    if install_sglang_cpu is not None:
        _install(install_sglang_cpu)
        return
    if address is not None:
        _hosts(address, python or None, json=json, ship_code=ship_code)
        return

    from ddbench.server.doctor.examine import examine

    found = examine(python or None)
    _print_json(found) if json else _print_table(found)
    if not any(each.is_ready for each in found if each.is_engine):
        raise typer.Exit(1)


def _hosts(address: str, python: str | None, *, json: bool, ship_code: bool) -> None:
    from ddbench.executors.on_ray.cluster import connected
    from ddbench.executors.on_ray.host import capabilities

    with connected(address, ship_code=ship_code) as cluster:
        hosts = cluster.hosts()
        cluster.require_same_code(hosts)
        found = cluster.ask(hosts, capabilities, python)
    if json:
        _print_hosts_json(found)
    else:
        for host, each in found.items():
            offers = ", ".join(f"{amount:g} {name}" for name, amount in host.offers.items())
            typer.echo(f"{host.name} ({offers})")
            _print_table(each)
    if not any(each.is_ready for some in found.values() for each in some if each.is_engine):
        raise typer.Exit(1)


def _install(folder: Path) -> None:
    import shlex

    from ddbench.server.doctor.install import install_sglang_cpu

    python = install_sglang_cpu(folder, say=lambda line: typer.echo(line, err=True))
    typer.echo(f"export DDBENCH_SGLANG_PYTHON={shlex.quote(str(python))}")


def _print_json(found: "list[Capability]") -> None:
    import json

    typer.echo(json.dumps(_plain(found), indent=2))


def _print_hosts_json(found: "dict[Host, list[Capability]]") -> None:
    import json

    hosts = [
        {"host": host.name, "resources": dict(host.offers), "capabilities": _plain(each)}
        for host, each in found.items()
    ]
    typer.echo(json.dumps(hosts, indent=2))


def _plain(found: "list[Capability]") -> list[dict[str, object]]:
    from dataclasses import asdict

    return [{**asdict(each), "ready": each.is_ready} for each in found]


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
