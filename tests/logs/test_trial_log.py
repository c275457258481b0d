"""A log while a trial runs: a real file that is appended to, rotated and truncated."""

import os
import threading
import time

import pytest

from ddbench.errors import LogFormatError
from ddbench.logs.trial_log import TrialLog

DECODE = "[2026-07-23 05:31:{:02}] Decode batch, #running-req: {}, #token: 7\n"


class Log:
    """Lines with the number of requests that run; `now` is a clock that the test moves."""

    def __init__(self, path):
        self.path = path
        self.now = 100.0
        path.write_text("Load weight end.\n")

    def add(self, *running):
        with self.path.open("a") as file:
            for number in running:
                file.write(DECODE.format(int(self.now) % 60, number))

    def at(self, now, *running):
        self.now = now
        self.add(*running)


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path / "server.log")


@pytest.fixture
def watched(log):
    return TrialLog(log.path, 0.0, clock=lambda: log.now)


def running(windows):
    return [window.running_requests for window in windows]


def test_what_was_logged_before_the_trial_is_not_in_it(log, watched):
    log.add(1, 2)
    watched.begin()
    log.add(3, 4)

    assert running(watched.excerpt(None).decode) == [3, 4]


def test_windows_of_the_steady_span_are_marked_and_never_too_many(log, watched):
    watched.begin()
    for second in range(10):
        log.at(100.5 + second, second)  # each line stands between two looks
        log.now = 101.0 + second
        watched.look(elapsed_s=1.0 + second)

    excerpt = watched.excerpt((2.5, 7.5))

    assert running(excerpt.decode) == list(range(10))
    first, last = excerpt.steady_decode
    assert running(excerpt.decode[first:last]) == [3, 4, 5, 6]


def test_progress_that_comes_late_does_not_move_the_span(log, watched):
    """Several processes tell of themselves, the slowest 0.9 s late now and then."""
    watched.begin()
    for second in range(10):
        log.at(100.5 + second, second)
        log.now = 101.0 + second
        watched.look(elapsed_s=1.0 + second - (0.9 if second % 2 else 0.0))

    first, last = watched.excerpt((2.5, 7.5)).steady_decode

    assert (first, last) == (3, 7)


def test_a_log_that_lags_is_steady_later(log):
    watched = TrialLog(log.path, 0.01, clock=lambda: log.now)
    for second in range(4):
        log.at(100.5 + second, second)
        log.now = 101.0 + second
        watched.look(elapsed_s=1.0 + second)

    assert watched.excerpt((1.0, 4.0)).steady_decode == (2, 4)


def test_lines_that_still_trickle_in_belong_to_the_trial(log):
    watched = TrialLog(log.path, 0.5)

    def trickle():
        for number in range(8):
            time.sleep(0.2)
            log.add(number)

    late = threading.Thread(target=trickle)
    late.start()
    excerpt = watched.excerpt(None)
    late.join()

    assert running(excerpt.decode) == list(range(8))


def test_without_a_span_or_looks_inside_it_nothing_is_marked(log, watched):
    log.add(1)
    watched.look(elapsed_s=0.0)

    assert watched.excerpt(None).steady_decode is None
    assert watched.excerpt((0.0, 5.0)).steady_decode is None


def truncate_and_write_more(log):
    size = log.path.stat().st_size
    os.truncate(log.path, 0)
    while log.path.stat().st_size <= 2 * size:
        log.add(7)


def rotate_and_write_more(log):
    """As logrotate's `create`, and a server that opens its log again."""
    text = log.path.read_text()
    log.path.rename(f"{log.path}.1")
    log.path.write_text(text)
    log.add(7)


@pytest.mark.parametrize("rotate", [truncate_and_write_more, rotate_and_write_more])
def test_a_log_that_was_rotated_and_grew_beyond_the_old_offset_is_seen(log, watched, rotate):
    log.add(1, 2)
    watched.begin()
    log.at(130.0, 3)

    rotate(log)

    with pytest.raises(LogFormatError, match="rotated"):
        watched.excerpt(None)


@pytest.mark.parametrize("rotate", [truncate_and_write_more, rotate_and_write_more])
def test_a_log_that_was_rotated_during_warm_up_is_seen(log, watched, rotate):
    log.add(1)
    watched.begin()

    rotate(log)

    with pytest.raises(LogFormatError, match="rotated"):
        watched.begin()


def test_a_log_that_is_gone_is_seen_and_one_we_never_had_is_none(log, watched):
    log.path.unlink()

    watched.look(elapsed_s=0.0)

    with pytest.raises(LogFormatError, match=r"server\.log"):
        watched.excerpt(None)
    elsewhere = TrialLog(None, 0.0)
    elsewhere.look(elapsed_s=0.0)
    assert elsewhere.excerpt((0.0, 1.0)).decode == ()
