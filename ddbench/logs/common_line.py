"""The form in which nearly all decode lines come, read straight from a block of bytes.

A shortcut and nothing more: for a line that it matches it gives what `parse_decode_line` gives, in
a fifth of the time, and every other line is left to that. Tests hold the two together.
"""

import re
from datetime import datetime
from functools import lru_cache

from ddbench.logs.prefix import read_prefix
from ddbench.records import DecodeWindow

_INTEGER = rb"([0-9]{1,15})"
_NUMBER = rb"([0-9.]{1,17})"
COMMON_DECODE_LINE = re.compile(
    rb"\[(20[0-9:. -]{17,21})((?: [A-Z_]+[0-9]{1,6})*)\] Decode batch(?: \[[0-9]+\])?[,.] "
    rb"#running-req: " + _INTEGER + rb", #(?:full )?token: " + _INTEGER + rb", "
    rb"(?:full )?token usage: [0-9.]+, "
    rb"(?:(?:#?swa token|swa token usage|mamba num|mamba usage): [0-9.]+, )*"
    rb"(?:accept len: " + _NUMBER + rb", (?:accept rate: " + _NUMBER + rb", )?)?"
    rb"(?:accepted depth: " + _NUMBER + rb", commit len: " + _NUMBER + rb", "
    rb"tree nodes: " + _NUMBER + rb", )?"
    rb"(?:(?:cuda|cpu|npu|musa) graph: (True|False), )?"
    rb"gen throughput \(token/s\): " + _NUMBER + rb", #queue-req: " + _INTEGER + rb"(?:, )?\r?\n"
)


def window_of(match: re.Match[bytes]) -> DecodeWindow | None:
    """The window of a match of COMMON_DECODE_LINE; None when a date or a number in it is none."""
    (
        stamp,
        ranks,
        running,
        tokens,
        accept_len,
        accept_rate,
        depth,
        commit_len,
        nodes,
        graph,
        throughput,
        queued,
    ) = match.groups()
    try:
        length = float(accept_len) if accept_len else None
        return DecodeWindow(
            _moment(stamp),
            _ranks(ranks) if ranks else "",
            int(running),
            int(queued),
            int(tokens),
            length or None,
            float(accept_rate) if accept_rate and length else None,
            graph == b"True" if graph else None,
            float(throughput),
            float(depth) if depth else None,
            float(commit_len) if commit_len else None,
            float(nodes) if nodes else None,
        )
    except ValueError:
        return None


@lru_cache(maxsize=16)  # several lines share a second
def _moment(stamp: bytes) -> datetime:
    return datetime.fromisoformat(stamp.decode())


@lru_cache(maxsize=256)
def _ranks(printed: bytes) -> str:
    return read_prefix(printed.decode()).ranks
