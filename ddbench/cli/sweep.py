"""ddbench sweep SWEEP.yaml [--out DIR]"""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

PIPED_COLUMNS = 110


def sweep(
    sweep_file: Annotated[Path, typer.Argument(metavar="SWEEP.yaml", help="What to run.")],
    out: Annotated[
        Path | None, typer.Option(help="The run folder; default runs/<name>-<UTC time>.")
    ] = None,
) -> None:
    """Launch every server of a sweep, drive it, and store what it did."""
    from rich.console import Console

    from ddbench.cli.live import LiveView
    from ddbench.plan.expand import expand
    from ddbench.plan.read import read_sweep
    from ddbench.report.terminal import summary_table
    from ddbench.runs.store import RunStore
    from ddbench.sweep import run_sweep

    plan = read_sweep(sweep_file)
    folder = out or Path("runs") / f"{plan.name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    try:
        with LiveView(len(expand(plan))) as view:
            failed = run_sweep(plan, folder, notify=view.show)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; what was measured is kept in {folder}", err=True)
        raise typer.Exit(130) from None
    with RunStore.open(folder) as store:
        stdout = Console() if sys.stdout.isatty() else Console(width=PIPED_COLUMNS)
        stdout.print(summary_table(list(store.results()), store.launches()))
    typer.echo(folder)
    if failed:
        typer.echo(f"{failed} trials failed: see `ddbench report markdown {folder}`", err=True)
        raise typer.Exit(1)
