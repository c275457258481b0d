"""ddbench sweep SWEEP.yaml [--out DIR], ddbench sweep --resume RUN"""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ddbench.cli.executor import ExecutorName, ExecutorOptions, SpreadName, chosen_executor

if TYPE_CHECKING:
    from ddbench.events import Event
    from ddbench.plan.selection import Selection
    from ddbench.records import SweepPlan


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
    arms: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only these arms; the rest stays for later.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=0, help="At most so many trials; the rest stays for later.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Shuffle the order of servers and concurrencies; A-B-B-A stays."),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Lines instead of a live table, on terminals too.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Nothing but errors and results.")] = False,
    events: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Each event as a JSON line; - is stderr, and no table."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be run, and how long; run nothing.")
    ] = False,
    executor: Annotated[
        ExecutorName, typer.Option(help="On this machine, or on the hosts of a Ray cluster.")
    ] = ExecutorName.LOCAL,
    address: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="ray: the cluster; default $RAY_ADDRESS or here."),
    ] = None,
    ship_code: Annotated[
        bool, typer.Option("--ship-code", help="ray: send this ddbench to hosts without it.")
    ] = False,
    spread: Annotated[
        SpreadName | None,
        typer.Option(help="ray: what stays on one host: a visit (default), or a launch only."),
    ] = None,
    client_streams: Annotated[
        int | None,
        typer.Option(min=1, help="ray: streams a client process holds; more take more processes."),
    ] = None,
) -> None:
    """Launch every server of a sweep, drive it, and store what it did."""

    from ddbench.cli.consoles import stdout_console
    from ddbench.cli.event_lines import event_lines
    from ddbench.cli.interrupt import Interrupts
    from ddbench.cli.live import LiveView, View
    from ddbench.errors import PlanError
    from ddbench.plan.read import parse_sweep, read_sweep
    from ddbench.plan.selection import Selection
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
    names = None if arms is None else tuple(name.strip() for name in arms.split(","))
    only = Selection(names, limit, seed)
    where = ExecutorOptions(executor, address, ship_code, spread, client_streams)
    if dry_run:
        _foretell(plan, resume, only, where)
        return
    view: View = "quiet" if quiet or events == "-" else "plain" if plain else "live"
    try:
        interrupts = Interrupts()
        with (
            event_lines(events) as lines,
            chosen_executor(where, plan) as chosen,
            LiveView(view) as live,
        ):

            def notify(event: "Event") -> None:
                live.show(event)
                interrupts.show(event)
                if lines is not None:
                    lines.show(event)

            outcome = run_sweep(
                plan,
                folder,
                notify=notify,
                executor=chosen,
                resume=resume is not None,
                retries=retry,
                only=only,
            )
            if lines is not None:
                lines.write("sweep_ended", {"failed": outcome.failed, "left": outcome.left})
    except KeyboardInterrupt:
        typer.echo(f"interrupted; go on with `ddbench sweep --resume {folder}`", err=True)
        raise typer.Exit(130) from None
    with RunStore.open(folder) as store:
        stdout_console().print(summary_table(list(store.results()), store.launches()))
    typer.echo(folder)
    if outcome.left:
        typer.echo(f"{outcome.left} trials are left: `ddbench sweep --resume {folder}`", err=True)
    if outcome.failed:
        typer.echo(
            f"{outcome.failed} trials failed: see `ddbench report markdown {folder}`", err=True
        )
        raise typer.Exit(1)


def _foretell(
    plan: "SweepPlan", resume: Path | None, only: "Selection", where: ExecutorOptions
) -> None:
    from ddbench.cli.dry_run import dry_run_lines
    from ddbench.load.prompts import read_prompts
    from ddbench.plan.expand import by_launch
    from ddbench.runs.estimate import estimate
    from ddbench.runs.store import RunStore
    from ddbench.sweep import not_done

    if resume is None:
        read_prompts(plan.loads[0].prompts, plan.loads[0].count)
        trials = only.of(plan)[: only.limit]
        known = estimate(by_launch(trials), (), ())
    else:
        with RunStore.open(resume) as store, chosen_executor(where, plan) as executor:
            trials = not_done(plan, store, only, executor)
            known = estimate(by_launch(trials), store.launches(), store.results())
    for line in dry_run_lines(trials, known, plan.until):
        typer.echo(line)
