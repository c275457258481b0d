"""The journal of a unit, on a real journald, with units as a host names them and as a container."""

import itertools
import subprocess

import pytest

from ddbench.errors import LogFormatError
from ddbench.logs.journal import read_journal
from ddbench.records import DecodeWindow

LINES = "\n".join(
    f"[2026-07-23 05:31:{second:02d}] Decode batch, #running-req: {running}, #token: 7424, "
    f"token usage: 0.01, accept len: 3.41, accept rate: 0.34, cuda graph: True, "
    f"gen throughput (token/s): 812.55, #queue-req: 0"
    for second, running in ((1, 4), (2, 5), (3, 6))
)


@pytest.fixture
def logged(manager_of_each_layout, tmp_path, systemctl, wait_until):
    """Runs a unit that prints a text; returns its name once the journal has the text."""
    assert manager_of_each_layout is None
    count = itertools.count()

    def run(name: str, text: str) -> str:
        last = f"the end, {next(count)}"
        file = tmp_path / "lines"
        file.write_text(f"{text}\n{last}\n")
        run = ["systemd-run", "--user", "--collect", "--quiet", f"--unit={name}"]
        subprocess.run([*run, "tail", "--lines=+1", "--follow", file], check=True)
        # journald asks the process whose line it is, so it must not end before that
        everything = ["journalctl", "--quiet", "--output=cat", "--lines=100"]
        wait_until(lambda: last in subprocess.check_output(everything, text=True))
        systemctl("stop", name)
        return name

    return run


def windows(unit, **options):
    return [r.record for r in read_journal(unit, **options) if isinstance(r.record, DecodeWindow)]


def test_windows_are_read_from_the_journal_of_a_unit(logged):
    logged("other-server", LINES.replace("3.41", "9.99"))
    unit = logged("some-server", LINES)

    for name in (unit, f"{unit}.service"):
        assert [w.running_requests for w in windows(name)] == [4, 5, 6]
    assert {w.accept_len_logged for w in windows(unit)} == {3.41}


def test_only_what_came_since_a_time_is_read(logged):
    unit = logged("timed-server", LINES)

    assert len(windows(unit, since="-1h")) == 3
    with pytest.raises(LogFormatError, match=r"no line of timed-server\.service since tomorrow"):
        windows(unit, since="tomorrow")


def test_a_time_that_is_none_is_what_journalctl_says_of_it(logged):
    unit = logged("some-server", LINES)

    with pytest.raises(LogFormatError, match="Failed to parse timestamp: yesterweek"):
        windows(unit, since="yesterweek")


def test_a_unit_that_never_ran_is_named(logged):
    assert logged
    with pytest.raises(LogFormatError, match=r"no line of no-such\.service"):
        windows("no-such")


def test_reading_may_stop_early(logged):
    unit = logged("long-server", "\n".join([LINES] * 1000))

    records = read_journal(unit)

    assert isinstance(next(records).record, DecodeWindow)
    records.close()


def test_check_reads_a_unit(logged, ddbench):
    unit = logged("checked-server", LINES)

    done = ddbench("check", "--unit", unit, "--since=-1h", "--json")

    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"subject":"journal of checked-server"') >= 3
