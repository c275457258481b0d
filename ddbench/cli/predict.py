"""ddbench predict RUN"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ddbench.predict.recorded import RecordedArm
    from ddbench.records import RunResult
    from ddbench.stats.service_level import Limit


def predict(
    run: Annotated[Path, typer.Argument(help="A run with an arm that recorded its drafts.")],
    budgets: Annotated[str, typer.Option(help="Nodes without the root: 1:128, or 7,15,31.")] = (
        "1:128"
    ),
    topk: Annotated[str, typer.Option(help="Candidates at each depth: 1:16, or 2,4.")] = "1:16",
    concurrency: Annotated[
        str | None, typer.Option(help="Of those that the run timed; default: all.")
    ] = None,
    slo: Annotated[
        str | None,
        typer.Option(
            metavar="LIMITS",
            help="Recommend what keeps `tpot_s<0.02,ttft_s<1`; a number alone is ms a token.",
        ),
    ] = None,
    arm: Annotated[
        str | None, typer.Option(help="The recording arm, where a run has several.")
    ] = None,
    write_sweep: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the sweep that settles it.")
    ] = None,
    heat_map: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw every budget and topk.")
    ] = None,
    validate: Annotated[
        bool, typer.Option("--validate", help="Compare with the run's own arms, and stop.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Plain data on stdout.")] = False,
) -> None:
    """What every budget and topk would do, from one recording: acceptance, speed, what to run."""
    from ddbench.predict.recorded import recorded_arm
    from ddbench.runs.store import RunStore

    limits = _limits(slo)
    with RunStore.open(run) as store:
        results = list(store.results())
        launches = store.launches()
        plan_text = store.plan_text
    recorded = recorded_arm(run, launches, results, arm=arm)
    for note in recorded.notes:
        typer.echo(note, err=True)
    if validate:
        _validate(recorded, results, as_json=as_json)
        return

    from ddbench.cli.prediction_text import Asked, Outputs, show_prediction
    from ddbench.predict.ranges import numbers

    show_prediction(
        recorded,
        results,
        Asked(
            budgets=numbers(budgets, option="--budgets"),
            topks=numbers(topk, option="--topk"),
            concurrencies=(
                None if concurrency is None else numbers(concurrency, option="--concurrency")
            ),
            limits=limits,
        ),
        plan_text=plan_text,
        outputs=Outputs(next_sweep=write_sweep, heat_map=heat_map),
        as_json=as_json,
    )


def _limits(text: str | None) -> tuple[Limit, ...]:
    from ddbench.predict.forecast import require_predictable
    from ddbench.stats.service_level import read_limits

    if text is None:
        return ()
    alone = re.fullmatch(r"\s*[\d.]+\s*", text)
    limits = read_limits(f"tpot_ms<{text}" if alone else text)
    require_predictable(limits)
    return limits


def _validate(recorded: RecordedArm, results: list[RunResult], *, as_json: bool) -> None:
    from dataclasses import asdict

    import orjson

    from ddbench.cli.prediction_text import show_validation
    from ddbench.predict.validation import passes, validate

    arms = validate(recorded, results)
    if as_json:
        data = {"passes": passes(arms), "arms": [asdict(one) for one in arms]}
        typer.echo(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode())
    else:
        show_validation(recorded, arms)
    if not passes(arms):
        raise typer.Exit(1)
