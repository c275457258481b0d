"""The known ways in which a server fails, one a row of crash_classes.tsv.

Level says how much a match explains, best first: a `cause`; a `wrapper` around some other cause; an
`exception` that ended a rank; any other `traceback`, which may be harmless; a `consequence` of
another process's failure; a `symptom` that every failure has. `response` rows are refusals of a
single request: in an error response they explain everything, in a log nothing. Broad patterns also
need `near`, within NEAR_LINES lines above.
"""

import csv
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, cast

Level = Literal["cause", "wrapper", "exception", "traceback", "consequence", "symptom", "response"]

LEVELS: tuple[Level, ...] = ("cause", "wrapper", "exception", "traceback", "consequence", "symptom")
"""Those that count in a log, most telling first."""

NEAR_LINES = 40


@dataclass(frozen=True, slots=True)
class CrashClass:
    name: str
    level: Level
    pattern: re.Pattern[str]
    near: re.Pattern[str] | None
    advice: str


@cache
def crash_classes() -> tuple[CrashClass, ...]:
    """Every row, in the order of the table; of two that match one line the earlier row is meant."""
    table = (files("ddbench.server") / "crash_classes.tsv").read_text(encoding="utf-8")
    rows = csv.DictReader(table.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    return tuple(
        CrashClass(
            name=row["class"],
            level=cast(Level, row["level"]),
            pattern=re.compile(row["pattern"]),
            near=re.compile(row["near"]) if row["near"] else None,
            advice=row["advice"],
        )
        for row in rows
    )


@cache
def any_pattern() -> re.Pattern[str]:
    """Matches every line that some row may match: one search instead of fifty."""
    return re.compile("|".join(f"(?:{each.pattern.pattern})" for each in crash_classes()))
