"""Where `ddbench check` gets its evidence: runs, logs, step traces, answers, other tools."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from pathlib import Path
from typing import Any

import orjson

from ddbench.checks.evidence import DraftCounts, Evidence, StatedRatios
from ddbench.checks.from_log import log_evidence
from ddbench.checks.from_run import launch_of, run_evidence
from ddbench.checks.from_tool import tool_evidence
from ddbench.checks.step_trace import read_step_trace
from ddbench.errors import DdbenchError, LogFormatError, RunError
from ddbench.load import meta_info
from ddbench.load.bad_answer import BadAnswer
from ddbench.logs.journal import read_journal
from ddbench.logs.line_records import LogRecord, UnreadableLine
from ddbench.logs.stream import LoggedRecord, read_log
from ddbench.logs.vllm_line import VllmLoadWindow, VllmSpecWindow
from ddbench.records import (
    DecodeWindow,
    PrefillWindow,
    RequestCompleted,
    RunResult,
    ServerConfig,
    StartupFact,
)
from ddbench.runs.foreign.read import KNOWN, is_tool_result, read_tool_results
from ddbench.runs.store import RunStore

WINDOWS_A_PART = 100_000  # a longer log is checked in parts, so that memory stays constant
MOST_JSON_BYTES = 64 << 20
MOST_RATIO = 1e9  # of a ratio or of seconds; above it, a number is none that a server wrote
HEAD_BYTES = 1 << 20
SSE = b"data: "
GIVE = (
    "Give a run folder, a server log, a step trace, answers of /generate, or a result file of "
    f"{KNOWN}."
)


@dataclass(slots=True)
class Reading:
    """What could not be read, for the user. `partial` is why an input ended before its end."""

    unreadable: list[str] = field(default_factory=list)
    unreadable_count: int = 0
    partial: list[DdbenchError] = field(default_factory=list)


def read_evidence(path: Path | None, reading: Reading) -> Iterator[Evidence]:
    """Evidence from one argument; None is a log on standard input.

    Raises a DdbenchError when nothing can be made of it. One that is cut off yields what stood
    before, and says why in `reading`.
    """
    if path is None:
        yield from _log(read_log(None), "standard input", reading)
    elif path.is_dir() or path.name == "run.sqlite":
        yield from _run(path if path.is_dir() else path.parent, reading)
    elif (kind := _kind_of(path)) is _Kind.TOOL:
        yield from _tool(path)
    elif kind is _Kind.JSON:
        yield from _json(path)
    else:
        yield from _log(read_log(path), str(path), reading)


def read_unit_evidence(unit: str, since: str | None, reading: Reading) -> Iterator[Evidence]:
    """Evidence from the journal of a systemd unit; as read_evidence."""
    yield from _log(read_journal(unit, since=since), f"journal of {unit}", reading)


def _run(folder: Path, reading: Reading) -> Iterator[Evidence]:
    """Every trial with answers; then the step traces of servers that ran several of them.

    A server that ran one trial gives it its trace, so that steps and answers can be compared.
    Trials that have no valid result are a part of the run that was not checked.
    """
    with RunStore.open(folder) as store:
        launches = store.launches()
        startup: dict[str, tuple[StartupFact, ...]] = {}
        done = Counter(r.trial.server for r in store.results() if r.failure is None)
        valid = {r.key for r in store.results() if r.failure is None}
        last_tries = {r.key: r for r in store.results() if r.key not in valid}
        if last_tries:
            reading.partial.append(_not_all(folder, list(last_tries.values())))
        for result in store.results():
            if result.failure is not None and not (
                result.completed and last_tries.get(result.key) == result
            ):
                continue
            launch = launch_of(result, launches)
            facts: tuple[StartupFact, ...] = ()
            if launch is not None and launch.log_name is not None:
                if launch.log_name not in startup:
                    startup[launch.log_name] = _startup_facts(store.log_path(launch.log_name))
                facts = startup[launch.log_name]
            evidence = run_evidence(result, launch, source=str(folder), startup=facts)
            trace = _trace_of(result.trial.server)
            if trace is not None and done[result.trial.server] == 1:
                evidence = replace(evidence, steps=tuple(read_step_trace(trace)))
            yield evidence
        for server in done:
            trace = _trace_of(server)
            if trace is not None and done[server] > 1:
                yield Evidence(
                    f"step trace {trace.name}",
                    source=str(folder),
                    speculation=server.speculation,
                    steps=tuple(read_step_trace(trace)),
                )


def _not_all(folder: Path, failed: Sequence[RunResult]) -> RunError:
    first = failed[0]
    why = "" if first.failure is None else f": {first.failure.crash_class}"
    return RunError(
        f"{len(failed)} trials of {folder} have no valid result ({first.trial.arm} at "
        f"{first.trial.load.asked}{why})",
        remedy="Run `ddbench sweep --resume` on it; answers that there are were checked.",
    )


def _trace_of(server: ServerConfig) -> Path | None:
    """The trace that the server was told to write, where it is still there."""
    path = dict(server.flags).get("step-trace")
    return Path(path) if isinstance(path, str) and Path(path).is_file() else None


def _startup_facts(log: Path) -> tuple[StartupFact, ...]:
    """Empty where the log was removed: its windows are in the run."""
    if not log.is_file() or not log.stat().st_size:
        return ()
    return tuple(r.record for r in read_log(log) if isinstance(r.record, StartupFact))


# ---------------------------------------------------------------- logs


@dataclass(slots=True)
class _Boot:
    """The lines of one start of one server, as they come in."""

    source: str
    boot: int
    parts: int = 0
    windows: list[DecodeWindow] = field(default_factory=list)
    prefill: list[PrefillWindow] = field(default_factory=list)
    startup: list[StartupFact] = field(default_factory=list)
    counts: list[DraftCounts] = field(default_factory=list)
    load: VllmLoadWindow | None = None

    def add(self, record: LogRecord) -> None:
        if isinstance(record, DecodeWindow):
            self.windows.append(record)
        elif isinstance(record, PrefillWindow):
            self.prefill.append(record)
        elif isinstance(record, StartupFact):
            self.startup.append(record)
        elif isinstance(record, VllmLoadWindow):
            self.load = record
        elif isinstance(record, VllmSpecWindow):
            self.counts.append(
                DraftCounts(
                    record.accepted_tokens,
                    record.drafted_tokens,
                    record.emitted_tokens,
                    record.speculative_tokens,
                )
            )
            if not record.cumulative:
                self.windows.append(_vllm_window(record, self.load))

    def take(self, name: str) -> Evidence:
        """What has come in so far; start-up lines are kept for the parts that follow."""
        self.parts += 1
        server = name + (f" [{self.source}]" if self.source else "")
        subject = server + (f" (start {self.boot + 1})" if self.boot else "")
        subject += f" (part {self.parts})" if self.parts > 1 else ""
        evidence = log_evidence(
            subject,
            source=name,
            arm=server,
            windows=self.windows,
            prefill=self.prefill,
            startup=self.startup,
            draft_counts=self.counts,
        )
        self.windows, self.prefill, self.counts = [], [], []
        return evidence


def _vllm_window(spec: VllmSpecWindow, load: VllmLoadWindow | None) -> DecodeWindow:
    fraction = spec.acceptance_fraction
    if fraction is None and spec.acceptance_percent is not None:
        fraction = spec.acceptance_percent / 100.0
    return DecodeWindow(
        logged_at=None,
        ranks="" if load is None else load.engine,
        running_requests=None if load is None else load.running_requests,
        queued_requests=None if load is None else load.waiting_requests,
        kv_tokens=None,
        accept_len_logged=spec.mean_acceptance_length,
        accept_rate_logged=fraction,
        graph=None,
        throughput_tokens_per_s=None if load is None else load.throughput_tokens_per_s,
    )


def _log(records: Iterator[LoggedRecord], name: str, reading: Reading) -> Iterator[Evidence]:
    boots: dict[tuple[str, int], _Boot] = {}
    cut: LogFormatError | None = None
    try:
        for logged in records:
            if isinstance(logged.record, UnreadableLine):
                reading.unreadable_count += 1
                if len(reading.unreadable) < 20:
                    reading.unreadable.append(f"{name}:{logged.line_number}: {logged.record.why}")
                continue
            key = (logged.source, logged.boot)
            boot = boots.setdefault(key, _Boot(*key))
            boot.add(logged.record)
            if len(boot.windows) + len(boot.prefill) >= WINDOWS_A_PART:
                yield boot.take(name)
    except LogFormatError as error:
        cut = error
    for boot in boots.values():
        if boot.windows or boot.prefill or not boot.parts:
            yield boot.take(name)
    if cut is not None and not boots:
        raise cut
    if cut is not None:
        reading.partial.append(cut)
    elif not boots:
        raise LogFormatError(
            f"{name} holds no line that SGLang or vLLM writes",
            remedy=GIVE,
        )


# ---------------------------------------------------------------- JSON


class _Kind(Enum):
    LOG = auto()
    JSON = auto()  # a step trace or answers
    TOOL = auto()  # a result of another tool


def _kind_of(path: Path) -> _Kind:
    """By the first MiB; a log may be JSON lines too (docker's), and is a log."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as cause:
        raise LogFormatError(
            f"cannot read {path}: {cause.strerror or cause}",
            remedy="Give a file that you may read.",
        ) from cause
    start = head.lstrip()
    if not start.startswith((b"{", SSE)) and not start[1:].lstrip().startswith(b"{"):
        return _Kind.LOG  # one that starts with [2026-07-23 ...] among them
    if is_tool_result(head):
        return _Kind.TOOL
    if b'"meta_info"' in head or (b'"parents"' in head and b'"accepted"' in head):
        return _Kind.JSON
    return _Kind.LOG


def _tool(path: Path) -> Iterator[Evidence]:
    for number, result in enumerate(read_tool_results(path), start=1):
        yield tool_evidence(result, source=str(path), number=number)


def _json(path: Path) -> Iterator[Evidence]:
    with path.open("rb") as file:
        first = file.readline(1 << 20)
    if b'"parents"' in first and b'"accepted"' in first:
        yield Evidence(str(path), source=str(path), steps=tuple(read_step_trace(path)))
        return
    answers = [_answer(number, answer) for number, answer in enumerate(_answers(path), start=1)]
    yield Evidence(
        str(path),
        source=str(path),
        requests=tuple(stated.request for stated in answers),
        stated=tuple(answers),
    )


def _answers(path: Path) -> list[Mapping[str, Any]]:
    """The finished answers in a file of one, of a list, or of the lines of a stream."""
    if path.stat().st_size > MOST_JSON_BYTES:
        raise _not_ours(path, f"it is larger than {MOST_JSON_BYTES >> 20} MiB")
    text = path.read_bytes()
    try:
        try:
            given = orjson.loads(text)
        except orjson.JSONDecodeError:
            given = [orjson.loads(line) for line in _events(text)]
    except orjson.JSONDecodeError as cause:
        raise _not_ours(path, f"it is no JSON: {cause}") from cause
    listed = given if isinstance(given, list) else [given]
    answers: list[Mapping[str, Any]] = [
        answer
        for answer in listed
        if isinstance(answer, dict)
        and isinstance(answer.get("meta_info"), dict)
        and answer["meta_info"].get("finish_reason")
    ]
    if not answers:
        raise _not_ours(path, "no entry has a meta_info of a finished answer")
    return answers


def _events(text: bytes) -> Iterator[bytes]:
    """The lines of JSON lines, or the data of server-sent events."""
    for line in text.splitlines():
        data = line.removeprefix(SSE).strip()
        if data and data != b"[DONE]":
            yield data


def _answer(number: int, answer: Mapping[str, Any]) -> StatedRatios:
    meta = answer["meta_info"]
    try:
        correct = meta_info.count(meta, "spec_num_correct_drafts")
        ids = meta_info.counts(answer, "output_ids")
        tokens = meta_info.count(meta, "completion_tokens", required=True)
        if ids is not None and len(ids) != tokens:
            ids = None  # a chunk of a stream, not all of the answer
        histogram = meta_info.counts(meta, "spec_correct_drafts_histogram", "spec_accept_histogram")
        proposed = meta_info.count(meta, "spec_num_proposed_drafts", "spec_proposed_drafts")
        request = RequestCompleted(
            prompt_id=f"answer {number}",
            sent_s=0.0,
            lateness_s=0.0,
            ttft_s=0.0,
            e2e_s=_ratio(meta, "e2e_latency") or 0.0,
            prompt_tokens=meta_info.count(meta, "prompt_tokens", required=True),
            completion_tokens=tokens,
            output_ids=ids,
            output_logprobs=None,
            finish_reason=meta_info.finish_reason(meta)[0],
            retractions=meta_info.count(meta, "num_retractions", "total_retractions"),
            cached_tokens=meta_info.count(meta, "cached_tokens"),
            verify_ct=meta_info.count(meta, "spec_verify_ct"),
            correct_drafts=correct,
            committed_drafts=meta_info.count(
                meta, "spec_num_committed_drafts", "spec_accepted_drafts"
            ),
            histogram=histogram,
            text=answer["text"] if isinstance(answer.get("text"), str) else None,
        )
    except BadAnswer as cause:
        raise LogFormatError(
            f"answer {number} cannot be read: {cause}",
            remedy="Give answers as /generate sent them.",
        ) from cause
    return StatedRatios(
        request,
        accept_length=_ratio(meta, "spec_accept_length"),
        accept_rate=_ratio(meta, "spec_accept_rate"),
        proposed_drafts=proposed,
    )


def _ratio(meta: Mapping[str, Any], name: str) -> float | None:
    value = meta.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < MOST_RATIO else None


def _not_ours(path: Path, why: str) -> LogFormatError:
    return LogFormatError(
        f"{path} cannot be checked: {why}",
        remedy=GIVE,
    )
