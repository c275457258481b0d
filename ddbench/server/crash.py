"""Why a server died, never got ready, or answered nothing: the first cause, not the last symptom.

SGLang ends with the same lines whatever happened ("Received sigquit from a child process",
"scheduler died", with a hint about memory), and prints its ready line even when the port was
taken. So the log is searched for the most telling kind of line, and of those the first is taken.
"""

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ddbench.errors import PortInUse, ServerError, ServerExitedEarly, ServerNotReady, UnitEnded
from ddbench.records import Failure
from ddbench.server.crash_table import (
    LEVELS,
    NEAR_LINES,
    CrashClass,
    Level,
    any_pattern,
    crash_classes,
)
from ddbench.server.log_tail import last_lines
from ddbench.server.redact import redact, secret_values

MAX_EVIDENCE = 500

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TRACEBACK = "Traceback (most recent call last):"
_READ_LOG = "Read the end of the server's log in the run folder."

_BY_EXIT_CODE = {
    -9: ("killed", "Look for the out-of-memory killer in the kernel's log (dmesg)."),
    -11: ("native_crash", "Native code crashed: try another attention backend or build."),
    -6: ("native_crash", "Native code aborted: read the lines above its last ones."),
}

_BY_ANSWER: tuple[tuple[str, str, str], ...] = (
    (
        r"(answer|request) within [\d.e+]+ s|not answered in time|no answer from \S+: \S*Timeout",
        "no_answer",
        "Look at what the server does at the end of its log; a slow one needs a longer timeout_s.",
    ),
    (
        r"connection was (closed|reset)|no connection|no answer from",
        "connection_lost",
        "Look at the end of the server's log: it died, or closed the connection itself.",
    ),
    (
        r"not JSON|JSON object|stream ended|meta_info|is not HTTP|not a (whole )?number|not a list"
        r"|not a string|a chunk |longer than|logprobs for",
        "bad_answer",
        "Check that an SGLang server answers there, and no proxy changes its answers.",
    ),
)


def classify(
    log: Path | str | None,
    error: ServerError | None = None,
    *,
    responses: Sequence[str] = (),
) -> Failure:
    """The class, the line that shows it, and what to do; class "unknown" with the last lines.

    log: the server's log file, or its text. error: what starting the server raised.
    responses: what failed requests were told. These come first: a server that refuses every
    request has nothing in its log.
    """
    secrets = secret_values()
    found = _in_responses(responses) or _in_log(_lines(log), _levels(error))
    if isinstance(error, UnitEnded) and error.certain:
        found = _of_unit(error, log_says=found)
    elif found is None:
        found = _unexplained(log, error, responses)
    return Failure(
        crash_class=found.crash_class,
        evidence=redact(found.evidence, secrets),
        advice=found.advice,
    )


def _in_responses(responses: Sequence[str]) -> Failure | None:
    """The class that most responses show."""
    shown = Counter(
        each for response in responses for each in crash_classes() if each.pattern.search(response)
    )
    if not shown:
        return None
    ((crash_class, _),) = shown.most_common(1)
    evidence = next(text for text in responses if crash_class.pattern.search(text))
    return Failure(crash_class.name, _shown(evidence), crash_class.advice)


def _levels(error: ServerError | None) -> Sequence[Level]:
    """Which lines of the log count, beside what starting the server raised."""
    if isinstance(error, ServerNotReady):  # ddbench ended it: the tracebacks are its own doing
        return ("cause", "wrapper")
    if isinstance(error, UnitEnded):  # its state says more than what every failure shows
        return ("cause", "wrapper", "exception")
    return LEVELS


def _in_log(lines: Iterable[str], counted: Sequence[Level]) -> Failure | None:
    """The first line of the most telling level among `counted`."""
    first: dict[Level, tuple[CrashClass, str]] = {}
    above: deque[str] = deque(maxlen=NEAR_LINES)
    in_traceback_of: Level | None = None
    for line in lines:
        above.append(line)
        if in_traceback_of is not None and line.strip() and not line[0].isspace():
            first[in_traceback_of] = first[in_traceback_of][0], line  # the exception itself
            in_traceback_of = None
        if any_pattern().search(line) is None:
            continue
        for each in crash_classes():
            if each.level not in counted or each.level in first or not _matches(each, line, above):
                continue
            if each.level == "cause":
                return Failure(each.name, _shown(line), each.advice)
            first[each.level] = each, line
            if _TRACEBACK in line:
                in_traceback_of = each.level
            break
    for level in counted:
        if level in first:
            crash_class, line = first[level]
            return Failure(crash_class.name, _shown(line), crash_class.advice)
    return None


def _matches(crash_class: CrashClass, line: str, above: Iterable[str]) -> bool:
    if crash_class.pattern.search(line) is None:
        return False
    near = crash_class.near
    return near is None or any(near.search(each) for each in above)


def _unexplained(
    log: Path | str | None, error: ServerError | None, responses: Sequence[str]
) -> Failure:
    tail = last_lines(log) if isinstance(log, Path) else "\n".join((log or "").splitlines()[-20:])
    if isinstance(error, ServerNotReady):
        return Failure("not_ready", tail, error.remedy)
    if isinstance(error, UnitEnded):
        return Failure(error.crash_class, f"{error.evidence}\n{tail}".strip(), error.remedy)
    if isinstance(error, PortInUse):
        return Failure("port_in_use_http", str(error), error.remedy)
    if isinstance(error, ServerExitedEarly):
        name, advice = _BY_EXIT_CODE.get(error.exit_code, ("unknown", _READ_LOG))
        return Failure(name, f"exit code {error.exit_code}\n{tail}", advice)
    if error is not None:
        name, _ = _by_answer(str(error)) or ("unknown", "")
        return Failure(name, f"{error}\n{tail}".strip(), error.remedy)
    told = [text for text, _ in Counter(responses).most_common(1)]
    name, advice = (_by_answer(told[0]) if told else None) or ("unknown", _READ_LOG)
    return Failure(name, "\n".join([*map(_shown, told), tail]).strip(), advice)


def _by_answer(told: str) -> tuple[str, str] | None:
    """Class and advice by what the client saw, where the log explains nothing."""
    for pattern, name, advice in _BY_ANSWER:
        if re.search(pattern, told):
            return name, advice
    return None


def _of_unit(error: UnitEnded, *, log_says: Failure | None) -> Failure:
    if log_says is None:
        return Failure(error.crash_class, error.evidence, error.remedy)
    evidence = f"{error.evidence}\nits log: {log_says.crash_class}: {log_says.evidence}"
    return Failure(error.crash_class, evidence, log_says.advice)


def _lines(log: Path | str | None) -> Iterator[str]:
    """Lines without colours; progress bars rewrite theirs with carriage returns."""
    if log is None:
        return
    if isinstance(log, str):
        yield from (_ANSI.sub("", line) for line in log.splitlines())
        return
    try:
        with log.open(encoding="utf-8", errors="replace") as stream:  # universal newlines: \r too
            for line in stream:
                yield _ANSI.sub("", line.rstrip("\n"))
    except FileNotFoundError:
        return


def _shown(line: str) -> str:
    line = line.strip()
    return line if len(line) <= MAX_EVIDENCE else f"{line[:MAX_EVIDENCE]} ..."
