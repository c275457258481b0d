"""The table at the end of a sweep, for people in a terminal or a log file."""

from collections.abc import Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ddbench.records import Launch, RunResult
from ddbench.report.notes import caveats, failure_counts
from ddbench.report.numbers import BY_DEFINITION, MS_PER_S, load_text, short_interval_text
from ddbench.report.summary import Row, summarise


def summary_table(results: Sequence[RunResult], launches: Sequence[Launch]) -> RenderableType:
    """A line an arm, by asked concurrency, and what to keep in mind below. Fits 100 columns."""
    rows = summarise(results)
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="bold")
    for header in ("arm", "achieved", "tokens/step", "tok/s", "TPOT ms"):
        table.add_column(header, overflow="fold")
    for load, group in groupby(rows, key=lambda row: (row.concurrency, row.rate_per_s)):
        table.add_row(Text(f"asked for {load_text(*load)}", style="bold"))
        for row in group:
            table.add_row(*(Text(cell) for cell in _cells(row)))
    lines = [Text(line, style="dim") for line in _below(rows, results, launches)]
    return Group(table, Text(), *lines)


def _cells(row: Row) -> list[str]:
    by_definition = row.speculation.algorithm is None
    return [
        row.arm,
        short_interval_text(row.achieved_concurrency),
        BY_DEFINITION if by_definition else short_interval_text(row.tokens_per_step),
        short_interval_text(row.tokens_per_s),
        short_interval_text(row.tpot_s, scale=MS_PER_S),
    ]


def _below(
    rows: Sequence[Row], results: Sequence[RunResult], launches: Sequence[Launch]
) -> list[str]:
    failed = failure_counts(rows)
    return [
        *([f"{failed}."] if failed else []),
        "Asked for and achieved: requests in flight. Each number with its 95 % interval; "
        "n counts trials for achieved and tok/s, prompts for the others.",
        *caveats(launches, results),
    ]
