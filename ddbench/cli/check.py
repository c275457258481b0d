"""ddbench check PATH... | --unit NAME: lint runs, logs, step traces and answers."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ddbench.checks.evidence import Evidence
    from ddbench.checks.finding import Finding, Skipped

THINNED = 5_000  # windows that a run keeps for the rules between runs


class OutputFormat(StrEnum):
    text = "text"
    json = "json"
    github = "github"
    sarif = "sarif"


def check(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            help="Run folders, server logs (- is stdin), traces, answers, results of other tools."
        ),
    ] = None,
    unit: Annotated[
        list[str] | None, typer.Option(help="The journal of a systemd unit; may repeat.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="With --unit: from when on, as journalctl takes it.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Same as --output-format json.")] = False,
    select: Annotated[
        list[str] | None, typer.Option(help="Only rules whose code starts so; may repeat.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Not the rules whose code starts so; may repeat.")
    ] = None,
    statistics: Annotated[bool, typer.Option(help="Only how often each rule fired.")] = False,
    output_format: Annotated[
        OutputFormat, typer.Option(help="How findings are written.")
    ] = OutputFormat.text,
) -> None:
    """Cross-examine what client, answers, log and counters say of the same steps.

    Exit code 1: an ERROR finding. 2: an input could not be read, or only in part.
    """
    import sys
    from dataclasses import replace

    import orjson

    from ddbench.checks.formats.github import render_github
    from ddbench.checks.formats.plain import render_plain, render_statistics
    from ddbench.checks.formats.sarif import render_sarif
    from ddbench.checks.run import check_between, check_one, report_of, selector
    from ddbench.cli.check_inputs import Reading, read_evidence, read_unit_evidence

    kind = OutputFormat.json if json else output_format
    wanted = selector(_codes(select), _codes(ignore))
    reading = Reading()
    outcomes: list[Finding | Skipped] = []
    kept: list[Evidence] = []
    written = 0
    out = sys.stdout
    sources = [
        *(read_evidence(None if path == "-" else Path(path), reading) for path in paths or []),
        *(read_unit_evidence(name, since, reading) for name in unit or []),
    ]
    if not sources:
        raise typer.BadParameter("give a PATH or --unit NAME")
    for source in sources:
        for evidence in source:
            if kind is OutputFormat.json:
                for window in evidence.windows:
                    row = orjson.dumps({"subject": evidence.subject, "window": window}).decode()
                    out.write(f"{',' if written else OPENING}\n{row}")
                    written += 1
            outcomes += check_one(evidence, wanted=wanted)
            stride = max(1, len(evidence.windows) // THINNED)
            kept.append(replace(evidence, windows=evidence.windows[::stride], steps=()))
    report = report_of([*outcomes, *check_between(kept, wanted=wanted)])
    if kind is OutputFormat.json:
        rest = {
            "findings": report.findings,
            "skipped": report.skipped,
            "unreadable": reading.unreadable,
            "partial": [str(error) for error in reading.partial],
        }
        body = orjson.dumps(rest).decode()[1:]
        out.write(f"{'' if written else OPENING}\n],{body}\n")
    elif statistics:
        out.write(render_statistics(report))
    elif kind is OutputFormat.github:
        out.write(render_github(report))
    elif kind is OutputFormat.sarif:
        out.write(render_sarif(report))
    else:
        out.write(render_plain(report))
    if reading.unreadable:
        typer.echo(
            f"{reading.unreadable_count} lines could not be read, the first: "
            f"{reading.unreadable[0]}",
            err=True,
        )
    for error in reading.partial:
        typer.echo(f"partial result: {error}\n  try: {error.remedy}", err=True)
    if reading.partial:
        raise typer.Exit(2)
    if report.has_errors:
        raise typer.Exit(1)


OPENING = '{"windows":['


def _codes(given: list[str] | None) -> list[str]:
    """ "DDB1,DDB204" or several options, in capitals."""
    return [
        code.strip().upper() for text in given or [] for code in text.split(",") if code.strip()
    ]
