"""Real lines, damaged in every way: never a traceback, never a number that is not in the text."""

import io
import re
import time
from dataclasses import fields
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ddbench.errors import LogFormatError
from ddbench.logs.line_records import UnreadableLine, line_records
from ddbench.logs.line_text import visible_text
from ddbench.logs.stream import read_stream
from ddbench.records import StartupFact

FIXTURES = Path(__file__).parent.parent / "fixtures" / "logs"
TYPED = [
    "server-1  | [2026-07-23 05:31:43.123 DP1 TP0] Decode batch [12], #running-req: 4, #full "
    "token: 5120, full token usage: 0.10, #swa token: 88, swa token usage: 0.20, accept len: 3.41, "
    "accept rate: 0.34, accepted depth: 2.41, commit len: 3.40, tree nodes: 31.00, "
    "cpu graph: False, gen throughput (token/s): 812.55, #queue-req: 2",
    "[2026-07-23 05:31:43 TP0] DDTREE window: avg_accepted_depth=7.00 avg_commit_len=2.00",
    "SpecDecoding metrics: Mean acceptance length: 2.13, Accepted throughput: 11.30 tokens/s, "
    "Accepted: 113 tokens, Drafted: 300 tokens, Per-position acceptance rate: 0.700, 0.300, "
    "Avg Draft acceptance rate: 37.7%",
    "Engine 002: Avg prompt throughput: 1.1 tokens/s, Avg generation throughput: 120.5 tokens/s, "
    "Running: 3 reqs, Waiting: 1 reqs",
]
REAL = TYPED + [
    line
    for path in sorted(FIXTURES.glob("*.log"))
    for line in path.read_bytes().decode(errors="replace").split("\n")
    if "batch" in line or "DFLASH" in line or "max_total" in line
]
SEPARATORS = [", ", ": ", "=", " ", ".", "-", "~", "→", "…", "|", "[", "] ", "\r", "\0", "\x1b[31m"]
VALUES = ["nan", "nan%", "inf", "1e9", "-0.00", "٣", "²", "None", "0" * 20, "9" * 5000, "a" * 5000]
MARKS = ["obj=", "Decode batch, ", "accept len: ", "avg_commit_len=", "avg_accepted_depth="]
MARKS += [
    "#running-req: ",
    " batch",
    "server_args=",
    "[2026-07-23 05:31:44 TP1] ",
    "2026-02-30T25:61",
]
PIECES = st.one_of(
    st.sampled_from([*SEPARATORS, *VALUES, *MARKS]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=6),
)


@st.composite
def damaged_lines(draw):
    line = draw(st.sampled_from(REAL))
    for _ in range(draw(st.integers(0, 4))):
        begin, end = sorted(draw(st.tuples(*[st.integers(0, len(line))] * 2)))
        piece = draw(st.one_of(PIECES, st.sampled_from(REAL), st.just(line[begin:end] * 2)))
        line = line[:begin] + piece + line[end:]
    return line


def numbers_of(record):
    for field in fields(record):
        value = getattr(record, field.name)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, int | float) and not isinstance(one, bool):
                yield one


def numbers_in(text):
    return {abs(float(number)) for number in re.findall(r"[0-9]+(?:\.[0-9]+)?", text)}


def check(records, text):
    there = numbers_in(text)
    for record in records:
        if isinstance(record, UnreadableLine):
            assert record.line in text
        elif isinstance(record, StartupFact):
            assert record.name == "server_args" or record.value in text
        else:
            assert {abs(number) for number in numbers_of(record)} <= there
            logged_at = getattr(record, "logged_at", None)
            if logged_at is not None:
                assert re.search(rf"{logged_at:%Y-%m-%d}[T ]{logged_at:%H:%M:%S}", text)
            for rank in getattr(record, "ranks", "").split():
                name, number = re.fullmatch(r"([A-Z_]+)([0-9]+)", rank).groups()
                assert re.search(f"{name}=?{number}", text)


@settings(max_examples=300, deadline=None)
@given(damaged_lines())
def test_a_damaged_line_gives_nothing_that_is_not_in_it(line):
    check(line_records(line), visible_text(line))


@settings(max_examples=300, deadline=None)
@given(damaged_lines())
def test_the_shortcut_for_common_lines_gives_what_the_parser_gives(line):
    file = io.BufferedReader(io.BytesIO(f"{line}\n".encode()))

    records = [logged.record for logged in read_stream(file, "server.log")]

    assert records == list(line_records(line.replace("\0", "")))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.one_of(damaged_lines().map(str.encode), st.binary(max_size=200)), max_size=12))
def test_a_damaged_log_is_read_or_refused(lines):
    data = b"\n".join(lines)

    try:
        records = list(read_stream(io.BufferedReader(io.BytesIO(data)), "server.log"))
    except LogFormatError:
        return

    text = visible_text(data.decode(errors="replace").replace("\0", ""))
    check([logged.record for logged in records], text.replace("\n", " "))
    numbers = [logged.line_number for logged in records]
    assert numbers == sorted(numbers)
    assert not numbers or 1 <= numbers[-1] <= len(data.split(b"\n"))


def test_the_check_itself_finds_an_invented_number():
    line = "avg_accepted_depth=6.25 avg_commit_len=2.00"
    records = list(line_records(line))
    check(records, line)

    with pytest.raises(AssertionError):
        check(records, line.replace("6.25", "6.24"))


def test_the_typed_lines_are_read():
    records = [record for line in TYPED for record in line_records(line)]

    assert [type(record).__name__ for record in records] == [
        "DecodeWindow",
        "DecodeWindow",
        "VllmSpecWindow",
        "VllmLoadWindow",
    ]
    assert records[0].logged_at == datetime(2026, 7, 23, 5, 31, 43, 123000)


@pytest.mark.parametrize(
    ("head", "filler"),
    [
        ("Decode batch, ", "a"),
        ("Decode batch, ", "ab "),
        ("Decode batch, ", "! "),
        ("Decode batch, ", ":"),
        ("Decode batch, accept len: 1", " ~"),
        ("Decode batch, accept len:", " "),
        ("", "Decode batch, "),
        ("", "[2026-07-23 05:31:43] Decode batch, "),
        ("", "(pid=1 "),
        ("", "\x1b]"),
        ("", "\r"),
        ("commit_len", " "),
        ("", "avg accepted depth "),
        ("", "Capture "),
        ("Capture ", "a "),
        ("", "Disable a graph "),
        ("", "non-greedy verification "),
        ("", "server_args=page_size='"),
        ("SpecDecoding metrics: Per-position acceptance rate: ", "0.1, "),
    ],
)
def test_time_grows_with_the_length_of_a_line_and_no_faster(head, filler):
    """Half a megabyte takes about a quarter of a second; quadratic time would take minutes."""
    line = head + filler * (500_000 // len(filler)) + "Decode batch, #token: 1"
    begin = time.process_time()

    list(line_records(line))

    assert time.process_time() - begin < 10
