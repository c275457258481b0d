"""Read a result file of another tool, whichever it is. Nothing is ever unpickled."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ddbench.errors import LogFormatError
from ddbench.records import ToolResult
from ddbench.runs.foreign import aiperf, sglang_one_batch, sglang_serving, vllm_serve
from ddbench.runs.foreign.entry import Entry

MOST_BYTES = 64 << 20

Matches = Callable[[Entry], bool]
Read = Callable[[Entry], ToolResult]
FORMATS: tuple[tuple[Matches, Read], ...] = (
    (sglang_serving.matches, sglang_serving.read),
    (sglang_one_batch.matches, sglang_one_batch.read),
    (vllm_serve.matches, vllm_serve.read),
    (aiperf.matches, aiperf.read),
)
MARKS = (sglang_serving.KEYS, sglang_one_batch.KEYS, vllm_serve.KEYS, aiperf.KEYS)
KNOWN = "SGLang bench_serving and one_batch_server, vLLM bench serve, AIPerf"


def is_tool_result(head: bytes) -> bool:
    """Whether a file that starts like this is one of them."""
    return any(all(b'"%s"' % key.encode() in head for key in keys) for keys in MARKS)


def read_tool_results(path: Path) -> list[ToolResult]:
    """Every run in a file of JSON, or of JSON lines, in its order.

    Raises LogFormatError when it is too large, no JSON, or of no tool that is known.
    """
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise _refused(path, f"{size >> 20} MiB are more than a result file has")
        text = path.read_bytes()
    except OSError as cause:
        raise LogFormatError(
            f"cannot read {path}: {cause.strerror or cause}",
            remedy="Give a file that you may read.",
        ) from cause
    found = []
    for number, fields in enumerate(_objects(path, text), start=1):
        entry = Entry(fields, f"{path}, run {number}")
        read = next((read for matches, read in FORMATS if matches(entry)), None)
        if read is None:
            raise _refused(path, "its JSON is of no tool that is known")
        found.append(read(entry))
    if not found:
        raise _refused(path, "it holds no JSON object")
    return found


def _objects(path: Path, text: bytes) -> Iterator[dict[str, Any]]:
    """The objects of one JSON value, or of one a line. Python's parser, since Infinity is bare."""
    try:
        whole = json.loads(text)
        yield from _listed(path, whole)
    except RecursionError as cause:
        raise _refused(path, "its JSON is nested too deeply") from cause
    except ValueError:
        yield from _lines(path, text)


def _lines(path: Path, text: bytes) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            yield from _listed(path, json.loads(line))
        except RecursionError as cause:
            raise _refused(path, "its JSON is nested too deeply") from cause
        except ValueError as cause:
            raise _refused(path, f"line {number} is no JSON: {cause}") from cause


def _listed(path: Path, value: object) -> list[dict[str, Any]]:
    listed = value if isinstance(value, list) else [value]
    objects = [each for each in listed if isinstance(each, dict)]
    if len(objects) < len(listed):
        raise _refused(path, "it holds JSON values that are no objects")
    return objects


def _refused(path: Path, why: str) -> LogFormatError:
    return LogFormatError(
        f"{path} cannot be checked: {why}",
        remedy=f"Give a result file as the tool wrote it ({KNOWN}).",
    )
