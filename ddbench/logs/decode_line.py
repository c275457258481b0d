"""SGLang's periodic "Decode batch" line, from 0.4.0 to 0.5.23, and what private patches add to it.

Read as fields rather than with one regex over the whole line: SGLang adds, drops and reorders
fields with the memory pool, the graph backend, disaggregation and its version. Unknown fields are
ignored, a missing one is None, a present one that cannot be read is an error.

`avg_accepted_depth` and `avg_commit_len` of private tree patches are read from the decode line or
from a line of their own, as `key=value` or as `key: value`.

Source: sglang/srt/managers/scheduler_components/metrics_reporter.py and its predecessors.
"""

import re
from functools import lru_cache

from ddbench.logs.fields import flag, integer, number, read_fields, unreadable
from ddbench.logs.line_text import overwritten_parts, visible_text
from ddbench.logs.prefix import read_prefix
from ddbench.records import DecodeWindow

# Not `Decode rank batch`, `Decode batch phase=tp,`, `Decode cache miss`.
_HEAD = re.compile(r"Decode batch(?: \[[0-9]+\])?(?:[,.:](?!\S)| (?=#))")
_NEXT_LINE = re.compile(r"\[[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]|(?:Decode|Prefill) batch")
_REQUEST_DUMP = "obj="  # --log-requests prints prompts, and a prompt may quote a log

_FIELD_OF = {
    "running-req": "#running-req",
    "queue-req": "#queue-req",
    "token": "#token",
    "full token": "#full token",
    "accept len": "accept len",
    "accept rate": "accept rate",
    "gen throughput (token/s)": "gen throughput",
    "gen throughput": "gen throughput",
}
_GRAPH = re.compile(r"[a-z]+ graph")
# A name after an arrow, a bullet or a unit; not after a word: `block accept len` is another field.
_DECORATED = re.compile(
    rf"(?:[^\w\s#(]\s*|\btok(?:en)?/s\s+)#?(?:avg )?({'|'.join(map(re.escape, _FIELD_OF))})$"
)
# A tree patch's averages, wherever they stand; `max commit len` is another quantity.
_TREE_FIELD = re.compile(
    r"(?<!\w)(?<!max )(?<!min )(?<!block )(?:avg[_ ]|mean[_ ])?"
    r"(accepted[_ ]depth|commit[_ ]len|tree[_ ]nodes|accept[_ ]len|accept[_ ]rate)"
    r"\s*[:=]>?\s*([^\s,;|]*)"
)
_TREE_KEYS = ("accepted_depth", "commit_len", "accepted depth", "commit len")


def parse_decode_line(line: str) -> DecodeWindow | None:
    """Return the interval that `line` reports, or None for any other kind of line.

    A line that carries only a tree patch's averages gives a window that has only those. An accept
    len of 0.00 says that no draft was checked, so it and the rate beside it are None.

    Raises LogFormatError, quoting the line, when a field is there and cannot be read.
    """
    of_a_tree = any(key in line for key in _TREE_KEYS)
    if not of_a_tree and "Decode batch" not in line:
        return None
    for part in overwritten_parts(visible_text(line)):
        if (head := _HEAD.search(part)) is not None:
            return _decode_window(part, head, of_a_tree=of_a_tree)
    return _tree_window(visible_text(line)) if of_a_tree else None


def _decode_window(line: str, head: re.Match[str], *, of_a_tree: bool) -> DecodeWindow | None:
    before, text = line[: head.start()], line[head.end() :]
    if _REQUEST_DUMP in before:
        return None
    if ("[" in text or " batch" in text) and (following := _NEXT_LINE.search(text)):
        text = text[: following.start()]
    values = read_fields(text, _field_of, line)
    if of_a_tree:
        values = _tree_values(text, line) | values
    return _window(values, before, line) if values else None


def _tree_window(line: str) -> DecodeWindow | None:
    values = {} if _REQUEST_DUMP in line else _tree_values(line, line)
    if not any(values.get(field, "")[:1].isdigit() for field in ("accepted depth", "commit len")):
        return None  # a sentence about them
    return _window(values, line, line)


def _window(values: dict[str, str], prefix_text: str, line: str) -> DecodeWindow:
    prefix = read_prefix(prefix_text)
    accept_len = number(values, "accept len", line)
    return DecodeWindow(
        logged_at=prefix.logged_at,
        ranks=prefix.ranks,
        running_requests=integer(values, "#running-req", line),
        queued_requests=integer(values, "#queue-req", line),
        kv_tokens=integer(values, "#token" if "#token" in values else "#full token", line),
        accept_len_logged=accept_len or None,
        accept_rate_logged=None if accept_len == 0 else number(values, "accept rate", line),
        graph=flag(values, "graph", line),
        throughput_tokens_per_s=number(values, "gen throughput", line, ranges=True),
        accepted_depth=number(values, "accepted depth", line),
        commit_len=number(values, "commit len", line),
        tree_nodes=number(values, "tree nodes", line),
    )


def _tree_values(text: str, line: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for key, value in _TREE_FIELD.findall(text):
        field = key.replace("_", " ")
        if values.setdefault(field, value) != value:
            raise unreadable(f"two values for {field!r}", line)
    return values


@lru_cache(maxsize=512)
def _field_of(key: str) -> str | None:
    name = key.strip().lower().replace("_", " ")
    plain = name.removeprefix("#").removeprefix("avg ")
    if _GRAPH.fullmatch(plain):
        return "graph"
    if (known := _FIELD_OF.get(plain)) is not None:
        return known
    decorated = _DECORATED.search(name)
    return None if decorated is None else _FIELD_OF[decorated[1]]
