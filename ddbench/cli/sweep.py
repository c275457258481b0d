"""ddbench sweep SWEEP.yaml [--out DIR], ddbench sweep --resume RUN"""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

PIPED_COLUMNS = 110


def sweep(
    sweep_file: Annotated[
        Path | None, typer.Argument(metavar="SWEEP.yaml", help="What to run.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The run folder; default runs/<name>-<UTC time>.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Go on with this run: what has no valid result."),
    ] = None,
    retry: Annotated[int, typer.Option(min=0, help="Try failed trials again, so often.")] = 0,
) -> None:
    """Launch every server of a sweep, drive it, and store what it did."""
    from rich.console import Console

    from ddbench.cli.live import LiveView
    from ddbench.errors import PlanError
    from ddbench.plan.read import parse_sweep, read_sweep
    from ddbench.report.terminal import summary_table
    from ddbench.runs.store import RunStore
    from ddbench.sweep import run_sweep

    if (sweep_file is None) == (resume is None) or (resume is not None and out is not None):
        raise PlanError(
            "a sweep starts from a sweep file, or goes on from a run",
            remedy="Give SWEEP.yaml (and perhaps --out DIR), or --resume RUN alone.",
        )
    if sweep_file is not None:
        plan = read_sweep(sweep_file)
        folder = out or Path("runs") / f"{plan.name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    else:
        assert resume is not None
        folder = resume
        with RunStore.open(folder) as store:
            plan = parse_sweep(store.plan_text, file=str(folder / "sweep.yaml"))
    try:
        with LiveView() as view:
            failed = run_sweep(
                plan, folder, notify=view.show, resume=resume is not None, retries=retry
            )
    except KeyboardInterrupt:
        typer.echo(f"interrupted; go on with `ddbench sweep --resume {folder}`", err=True)
        raise typer.Exit(130) from None
    with RunStore.open(folder) as store:
        stdout = Console() if sys.stdout.isatty() else Console(width=PIPED_COLUMNS)
        stdout.print(summary_table(list(store.results()), store.launches()))
    typer.echo(folder)
    if failed:
        typer.echo(f"{failed} trials failed: see `ddbench report markdown {folder}`", err=True)
        raise typer.Exit(1)
