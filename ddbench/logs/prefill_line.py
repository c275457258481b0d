"""SGLang's "Prefill batch" line, from 0.4.0 to 0.5.23. Read like the decode line.

Source: sglang/srt/managers/scheduler_components/metrics_reporter.py and its predecessors.
"""

import re
from functools import lru_cache

from ddbench.logs.fields import integer, read_fields
from ddbench.logs.line_text import overwritten_parts, visible_text
from ddbench.logs.prefix import read_prefix
from ddbench.records import PrefillWindow

_HEAD = re.compile(
    r"Prefill batch(?: \[[0-9]+\])?(?:[,.:](?!\S)| (?=#))"
)  # not `Prefill rank batch`
_NEXT_LINE = re.compile(r"\[[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]|(?:Decode|Prefill) batch")
_REQUEST_DUMP = "obj="  # --log-requests prints prompts, and a prompt may quote a log
_FIELDS = frozenset({"#new-seq", "#new-token", "#cached-token", "#running-req", "#queue-req"})


def parse_prefill_line(line: str) -> PrefillWindow | None:
    """Return the prefill that `line` reports, or None for any other kind of line.

    Raises LogFormatError, quoting the line, when a field is there and cannot be read.
    """
    if "Prefill batch" not in line:
        return None
    for part in overwritten_parts(visible_text(line)):
        if (head := _HEAD.search(part)) is not None:
            return _prefill_window(part, head)
    return None


def _prefill_window(line: str, head: re.Match[str]) -> PrefillWindow | None:
    before, text = line[: head.start()], line[head.end() :]
    if _REQUEST_DUMP in before:
        return None
    if following := _NEXT_LINE.search(text):
        text = text[: following.start()]
    values = read_fields(text, _field_of, line)
    if not values:
        return None
    prefix = read_prefix(before)
    return PrefillWindow(
        logged_at=prefix.logged_at,
        ranks=prefix.ranks,
        new_requests=integer(values, "#new-seq", line),
        new_tokens=integer(values, "#new-token", line),
        cached_tokens=integer(values, "#cached-token", line),
        running_requests=integer(values, "#running-req", line),
        queued_requests=integer(values, "#queue-req", line),
    )


@lru_cache(maxsize=512)
def _field_of(key: str) -> str | None:
    name = f"#{key.strip().lower().removeprefix('#')}"
    return name if name in _FIELDS else None
