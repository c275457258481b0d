"""ddbench report markdown|html|json RUN"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ddbench.report.content import Report

app = typer.Typer(help="Findings, answer, tables and figures of a run.", no_args_is_help=True)

Run = Annotated[Path, typer.Argument(help="A run folder.")]
Slo = Annotated[
    str | None,
    typer.Option(
        metavar="LIMITS",
        help="The fastest arm that keeps `tpot_s<0.02,ttft_s<1`; means, or METRIC.p95.",
    ),
]


@app.command("markdown")
def markdown(
    run: Run,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write report.md there, and its figures beside it."),
    ] = None,
    slo: Slo = None,
) -> None:
    """Tables that render on GitHub, on stdout; with --out its figures too."""
    from ddbench.report.files import MARKDOWN, require_new, write_markdown
    from ddbench.report.markdown import render_markdown

    if out is not None:
        require_new(out / MARKDOWN)
    report = _report(run, slo)
    if out is None:
        typer.echo(render_markdown(report), nl=False)
    else:
        typer.echo(write_markdown(report, out))


@app.command("html")
def html(
    run: Run,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it there. Default: stdout.")
    ] = None,
    slo: Slo = None,
) -> None:
    """One page that needs no network: figures, tables to sort, dark and light."""
    from ddbench.report.files import require_new, write_new
    from ddbench.report.page import render_page

    if out is not None:
        require_new(out)
    page = render_page(_report(run, slo))
    if out is None:
        typer.echo(page, nl=False)
    else:
        typer.echo(write_new(out, page))


@app.command("json")
def json(run: Run, slo: Slo = None) -> None:
    """All of it as plain data, for other programs; ddbench/report/plain_data.py lists the keys."""
    from ddbench.report.plain_data import render_json

    typer.echo(render_json(_report(run, slo)), nl=False)


def _report(run: Path, slo: str | None) -> Report:
    from ddbench.checks.run import check
    from ddbench.cli.check_inputs import Reading, read_evidence
    from ddbench.report.assemble import assemble
    from ddbench.report.drafters import drafter_reports
    from ddbench.report.prediction import predict
    from ddbench.runs.store import RunStore
    from ddbench.stats.service_level import read_limits

    limits = () if slo is None else read_limits(slo)
    with RunStore.open(run) as store:
        name, launches, results = store.name, store.launches(), list(store.results())
    return assemble(
        name,
        launches,
        results,
        checked=check(list(read_evidence(run, Reading()))),
        drafters=drafter_reports(run, launches, results),
        predicted=predict(run, launches, results),
        limits=limits,
    )
