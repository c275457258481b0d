"""Decode lines that a terminal or a mail wrapped over two or three physical lines."""

import re

_LAST_FIELDS = ("gen throughput", "#queue-req")
_FIELD_AT_START = re.compile(
    r"[>|\s*-]*(?:(?:avg[_ ])?accept(?:ed)?[_ ](?:len|rate|depth)|(?:avg[_ ])?commit[_ ]len"
    r"|len|rate|(?:cuda|cpu|npu|musa) graph|graph|(?:gen )?throughput|(?:full |swa )?token usage"
    r"|usage|#[a-z]+-req|#token)\s*(?:\([^)]*\))?\s*[:=]"
)


def may_continue(line: str) -> bool:
    """Whether `line` begins a decode record and lacks the fields at the end of one."""
    return "Decode batch" in line and not any(field in line for field in _LAST_FIELDS)


def continues(line: str) -> bool:
    """Whether `line` begins with a decode field, as only the rest of a wrapped record does."""
    return _FIELD_AT_START.match(line) is not None
