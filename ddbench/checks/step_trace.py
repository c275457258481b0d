"""Read a step trace: one JSON line a request-step, as the embedded server's --step-trace writes."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson

from ddbench.checks.evidence import StepRecord
from ddbench.errors import LogFormatError


def read_step_trace(path: Path) -> Iterator[StepRecord]:
    """The steps of `path`, in its order; a last line that is cut off is left out.

    Raises LogFormatError for a line that is no step, naming it, and when the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n"):
                    yield _step(line, f"{path}:{number}")
    except OSError as cause:
        raise LogFormatError(
            f"cannot read {path}: {cause.strerror}", remedy="Give a step trace that you may read."
        ) from cause


def _step(line: bytes, where: str) -> StepRecord:
    try:
        said: dict[str, Any] = orjson.loads(line)
        step = StepRecord(
            rid=str(said["rid"]),
            step=int(said["step"]),
            prefix_len=int(said["prefix_len"]),
            parents=_whole(said["parents"]),
            tokens=_whole(said["tokens"]),
            depths=_whole(said["depths"]),
            log_weights=tuple(float(x) for x in said.get("log_weights") or ()),
            accepted=_whole(said["accepted"]),
            target=tuple(None if x is None else int(x) for x in said["target"]),
            bonus=int(said["bonus"]),
            commit=_whole(said["commit"]),
            finished=bool(said["finished"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as cause:
        raise _unreadable(where, f"{type(cause).__name__}: {cause}") from cause
    nodes = len(step.parents)
    lengths = {len(step.tokens), len(step.depths), len(step.target), nodes}
    if step.log_weights:
        lengths.add(len(step.log_weights))
    if lengths != {nodes} or not nodes:
        raise _unreadable(where, f"its per-node lists have the lengths {sorted(lengths)}")
    if not step.accepted or not all(0 <= node < nodes for node in step.accepted):
        raise _unreadable(where, f"accepted {list(step.accepted)} names nodes beyond its {nodes}")
    return step


def _whole(values: list[Any]) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def _unreadable(where: str, why: str) -> LogFormatError:
    return LogFormatError(
        f"{where} is no step of a trace: {why}",
        remedy="Give the file that --step-trace wrote, whole.",
    )


def consecutive(steps: Sequence[StepRecord]) -> Iterator[tuple[StepRecord, StepRecord]]:
    """Each pair of steps of one request that follow each other without a gap.

    A request that was retracted in between is prefilled again up to its bonus, and drafts from the
    token after that: its prefix is longer by one than the commit, and its root another token.
    """
    by_request: dict[str, list[StepRecord]] = {}
    for step in steps:
        by_request.setdefault(step.rid, []).append(step)
    for of_request in by_request.values():
        ordered = sorted(of_request, key=lambda step: step.step)
        for before, after in pairwise(ordered):
            advance = after.prefix_len - before.prefix_len
            again = advance == len(before.commit) + 1 and after.tokens[0] != before.bonus
            if after.step == before.step + 1 and not again:
                yield before, after
