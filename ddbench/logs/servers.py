"""Whose line it is: which server wrote it, and in which of its starts."""

from dataclasses import dataclass
from functools import lru_cache

from ddbench.errors import LogFormatError
from ddbench.logs.line_records import LogRecord, UnreadableLine
from ddbench.logs.prefix import read_prefix
from ddbench.logs.vllm_line import VllmLoadWindow, VllmSpecWindow
from ddbench.records import StartupFact

# Said once a start, before the first request. The others may be said later.
_SAID_WHILE_STARTING = frozenset(
    {
        "server_args",
        "max_running_requests_reset",
        "scheduler_limits",
        "kv_pool_tokens",
        "dflash_draft_runner",
        "dflash_mask_token",
        "dflash_block_size_mismatch",
        "dspark_draft_runner",
        "ddtree_worker",
        "overlap_disabled",
    }
)
_SAID_AFTER_SERVER_ARGS = frozenset(
    {"scheduler_limits", "kv_pool_tokens", "dflash_draft_runner", "dspark_draft_runner"}
)
_MAX_SOURCES = 1024


@dataclass(slots=True)
class _Start:
    boot: int = 0
    has_args: bool = False
    is_ready: bool = False
    has_windows: bool = False
    follows_unfinished: bool = False  # the start before it never became ready


class Servers:
    """Keeps apart the servers and the starts in one log. Show it every record, in order."""

    def __init__(self, log_name: str) -> None:
        self._log_name = log_name
        self._starts: dict[str, _Start] = {}

    def place(self, record: LogRecord, line: str) -> tuple[str, int]:
        """Return (source, boot) of a record that was read from `line`.

        Raises LogFormatError when the lines of two servers are mixed and nothing tells them apart:
        windows in the middle of a start, or two starts that end after both have begun.
        """
        source = _source(record, line)
        start = self._start(source)
        if isinstance(record, StartupFact):
            self._note_fact(start, record.name)
        elif not isinstance(record, UnreadableLine):
            start.has_windows = True
        return source, start.boot

    def place_window(self, before: bytes) -> tuple[str, int]:
        """As `place`, for a window whose line begins with `before` and then SGLang's stamp."""
        source = _source_of_prefix(before) if before else ""
        start = self._starts.get(source) or self._start(source)
        start.has_windows = True
        return source, start.boot

    def _start(self, source: str) -> _Start:
        if source not in self._starts and len(self._starts) == _MAX_SOURCES:
            raise self._refusal(f"more than {_MAX_SOURCES} servers write into it")
        return self._starts.setdefault(source, _Start())

    def _note_fact(self, start: _Start, name: str) -> None:
        mixed = start.has_args and start.has_windows and not start.is_ready
        if mixed and name in _SAID_AFTER_SERVER_ARGS:
            raise self._refusal("one server reports windows while another starts")
        is_serving = start.is_ready or start.has_windows
        restarted = name == "server_args" and start.has_args
        if (name in _SAID_WHILE_STARTING and is_serving) or restarted:
            start.follows_unfinished = start.has_args and not start.is_ready
            start.boot += 1
            start.has_args = start.is_ready = start.has_windows = False
        if name == "server_args":
            start.has_args = True
        if name == "ready":
            if start.is_ready and start.follows_unfinished:
                raise self._refusal("two servers started side by side")
            start.is_ready = True

    def _refusal(self, why: str) -> LogFormatError:
        return LogFormatError(
            f"{self._log_name} mixes the lines of several servers, and nothing on the lines tells "
            f"them apart: {why}",
            remedy="Let every server write a log of its own, or put its name before its lines.",
        )


@lru_cache(maxsize=256)
def _source_of_prefix(before: bytes) -> str:
    return read_prefix(before.decode(errors="replace")).source


def _source(record: LogRecord, line: str) -> str:
    if isinstance(record, VllmSpecWindow | VllmLoadWindow):
        return record.source
    head = line
    for mark in ("Decode batch", "Prefill batch", "server_args="):
        head = head.partition(mark)[0]
    return read_prefix(head[:300]).source
