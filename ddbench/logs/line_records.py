"""Everything that one physical line of a log says, whichever kind of line it is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ddbench.errors import LogFormatError
from ddbench.logs.decode_line import parse_decode_line
from ddbench.logs.line_text import visible_text
from ddbench.logs.prefill_line import parse_prefill_line
from ddbench.logs.startup_line import STARTUP_NEEDLES, parse_startup_line
from ddbench.logs.vllm_line import (
    VLLM_NEEDLES,
    VllmLoadWindow,
    VllmSpecWindow,
    parse_vllm_load_line,
    parse_vllm_spec_line,
)
from ddbench.records import DecodeWindow, PrefillWindow, StartupFact

# Two processes may write their lines without a line end between them.
_STAMPED_BATCH = re.compile(
    r"(?=\[[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][^\[\]]*\] (?:Decode|Prefill) batch)"
)


@dataclass(frozen=True, slots=True)
class UnreadableLine:
    """A line of a known kind with a field that cannot be read. `why` quotes the field."""

    line: str
    why: str


LogRecord = (
    DecodeWindow | PrefillWindow | StartupFact | VllmSpecWindow | VllmLoadWindow | UnreadableLine
)

NEEDLES: tuple[str, ...] = (
    "Decode batch",
    "Prefill batch",
    "commit",
    "accepted",
    *VLLM_NEEDLES,
    *STARTUP_NEEDLES,
)
"""A line without any of these says nothing that `line_records` reads."""

_PARSERS = (
    parse_decode_line,
    parse_prefill_line,
    parse_startup_line,
    parse_vllm_spec_line,
    parse_vllm_load_line,
)


def line_records(line: str) -> Iterator[LogRecord]:
    """Yield what the line says, in its order; nothing for a line of another kind. Never raises."""
    parts = _STAMPED_BATCH.split(line) if line.count(" batch") > 1 else (line,)
    for part in parts:
        try:
            for parse in _PARSERS:
                record: LogRecord | None = parse(part)
                if record is not None:
                    yield record
                    break
        except LogFormatError as error:
            yield UnreadableLine(visible_text(part).strip(), str(error))
