"""Captured logs cut at byte offsets."""

import os

import pytest

from ddbench.errors import LogFormatError
from ddbench.logs.excerpt import MAX_LINE_BYTES, read_excerpt

DECODE = "[2026-07-23 05:31:43] Decode batch, #running-req: {}, #token: 7\n"


def test_reads_a_whole_captured_log(captured):
    excerpt = read_excerpt(captured("sglang-0.5.23-dflash"), 0, None)

    assert len(excerpt.decode) == 56
    assert len(excerpt.prefill) == 4
    assert [fact.name for fact in excerpt.startup][-1] == "ready"
    assert excerpt.unreadable == ()


def test_wherever_a_log_is_cut_every_line_is_in_exactly_one_part(captured):
    path = captured("sglang-0.5.11-dflash")
    size = path.stat().st_size
    whole = read_excerpt(path, 0, size)

    for cut in range(0, size, 331):
        before, after = read_excerpt(path, 0, cut), read_excerpt(path, cut, size)

        assert before.decode + after.decode == whole.decode
        assert before.prefill + after.prefill == whole.prefill
        assert before.startup + after.startup == whole.startup


def test_a_line_belongs_where_its_end_stands(tmp_path):
    path = tmp_path / "server.log"
    first, second = DECODE.format(1), DECODE.format(2)
    path.write_text(first + second)

    def running(start, end):
        return [window.running_requests for window in read_excerpt(path, start, end).decode]

    assert running(0, len(first) - 1) == []
    assert running(0, len(first)) == [1]
    assert running(len(first) - 1, None) == [1, 2]
    assert running(len(first), None) == [2]
    assert running(len(first) + 30, None) == [2]


def test_an_unfinished_line_belongs_to_no_excerpt_yet(tmp_path):
    path = tmp_path / "server.log"
    path.write_text(DECODE.format(1) + DECODE.format(23)[:48])

    excerpt = read_excerpt(path, 0, None)

    assert [window.running_requests for window in excerpt.decode] == [1]


def test_a_line_that_cannot_be_read_costs_only_itself(tmp_path):
    path = tmp_path / "server.log"
    torn = "[2026-07-23 05:31:43] Decode batch, #running-req: 4[2026"
    path.write_text(DECODE.format(1) + torn + "\n" + DECODE.format(2))

    excerpt = read_excerpt(path, 0, None)

    assert [window.running_requests for window in excerpt.decode] == [1, 2]
    assert excerpt.unreadable == (torn,)


def test_bytes_that_are_no_text_are_replaced(tmp_path):
    path = tmp_path / "server.log"
    path.write_bytes(b"\xff\xfe\0 " + DECODE.format(3).encode() + b"\x80\n")

    (window,) = read_excerpt(path, 0, None).decode

    assert window.running_requests == 3


def test_an_overlong_line_is_skipped(tmp_path):
    path = tmp_path / "server.log"
    path.write_text(DECODE.format(1) + "x" * (3 * MAX_LINE_BYTES) + "\n" + DECODE.format(2))

    windows = read_excerpt(path, 0, None).decode
    from_within = read_excerpt(path, 2 * MAX_LINE_BYTES, None).decode

    assert [window.running_requests for window in windows] == [1, 2]
    assert [window.running_requests for window in from_within] == [2]


@pytest.mark.parametrize(("start", "end"), [(0, 1000), (500, None), (30, 20), (-1, None)])
def test_a_log_shorter_than_its_offsets_was_truncated_or_rotated(tmp_path, start, end):
    path = tmp_path / "server.log"
    path.write_text(DECODE.format(1))

    with pytest.raises(LogFormatError, match="truncated or rotated"):
        read_excerpt(path, start, end)


def test_a_log_that_is_gone_is_an_error(tmp_path):
    with pytest.raises(LogFormatError, match="No such file"):
        read_excerpt(tmp_path / "gone.log", 0, None)


def test_a_log_truncated_while_it_is_read_is_an_error(tmp_path, monkeypatch):
    path = tmp_path / "server.log"
    path.write_text(DECODE.format(1) * 1000)
    size_seen = os.stat_result([*path.stat()[:6], 10 * path.stat().st_size, *path.stat()[7:]])
    monkeypatch.setattr(os, "fstat", lambda _: size_seen)

    with pytest.raises(LogFormatError, match="truncated or rotated"):
        read_excerpt(path, 0, None)
