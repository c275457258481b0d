"""Real processes that are killed, compete, or run out of disk."""

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ddbench.errors import RunError
from ddbench.records import SweepPlan
from ddbench.runs.store import RunStore

WRITER = [sys.executable, str(Path(__file__).parent / "writer.py")]
REQUESTS = 400


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen([*WRITER, str(folder), *options], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("seed", range(12))
def test_a_kill_leaves_every_stored_result_whole(tmp_path: Path, seed: int) -> None:
    process = start(tmp_path)
    assert process.stdout is not None
    process.stdout.readline()

    time.sleep(random.Random(seed).uniform(0.0, 0.15))  # a result takes about 10 ms
    process.send_signal(signal.SIGKILL)
    announced = 1 + len(process.communicate()[0].splitlines())

    with RunStore.open(tmp_path) as store:
        results = list(store.results())
    RunStore.resume(tmp_path).close()  # the dead process holds no lock
    assert len(results) in (announced, announced + 1)
    assert all(len(result.requests) == REQUESTS for result in results)
    connection = sqlite3.connect(tmp_path / "run.sqlite")
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def test_a_second_writer_is_refused_while_the_first_lives(tmp_path: Path, plan: SweepPlan) -> None:
    process = start(tmp_path)
    assert process.stdout is not None
    process.stdout.readline()

    try:
        with pytest.raises(RunError, match="another ddbench is writing"):
            RunStore.resume(tmp_path)
        with pytest.raises(RunError, match=r"already holds run\.sqlite"):
            RunStore.create(tmp_path, plan)
    finally:
        process.kill()
        process.communicate()


def test_a_full_disk_is_one_sentence_and_keeps_what_was_stored(tmp_path: Path) -> None:
    process = start(tmp_path, "--file-limit", "1000000")
    output = process.communicate(timeout=60)[0].splitlines()

    *stored, error, kept = output

    assert process.returncode == 0
    assert stored
    assert "could not write" in error
    assert "Free space" in error
    assert kept == f"kept: {len(stored)} whole: True"


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare for a small disk")
def test_a_small_disk_that_fills_keeps_what_was_stored(tmp_path: Path) -> None:
    mount = f"mount -t tmpfs -o size=2m none {tmp_path} && exec"
    shell = f"{mount} {' '.join(WRITER)} {tmp_path}/run"
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", shell],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"cannot mount a small disk here: {done.stderr.strip()[-200:]}")

    *stored, error, kept = done.stdout.splitlines()

    assert stored
    assert "could not write" in error
    assert "full" in error
    assert kept == f"kept: {len(stored)} whole: True"


def test_a_run_on_a_read_only_disk_is_readable(tmp_path: Path) -> None:
    process = start(tmp_path / "run", "--file-limit", "1000000")
    process.communicate(timeout=60)
    for name in ("run.sqlite-shm", "run.sqlite-wal"):  # empty, and not worth copying to a CD
        (tmp_path / "run" / name).unlink()
    reader = (
        "import sys; from pathlib import Path; from ddbench.runs.store import RunStore;"
        "print(len(RunStore.open(Path(sys.argv[1])).keys()))"
    )
    again = f"mount --bind -o ro {tmp_path}/run {tmp_path}/run && exec"
    shell = f"{again} {sys.executable} -c '{reader}' {tmp_path}/run"

    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", shell],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    if "mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip(f"cannot mount a read-only disk here: {done.stderr.strip()[-200:]}")
    assert int(done.stdout) > 0
