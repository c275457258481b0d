"""The parts of the Ray executor that need no cluster."""

import os
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path

import pytest

from ddbench.errors import RunError
from ddbench.events import LaunchEnded, LaunchEvent, TrialEnded, TrialStarted
from ddbench.executors.executor import LaunchJob
from ddbench.executors.on_ray.block_queue import BlockQueue
from ddbench.executors.on_ray.board import Board
from ddbench.executors.on_ray.clients import ClientPlan, reachable
from ddbench.executors.on_ray.clock import Offset, drifted, measure_offset
from ddbench.executors.on_ray.code import Code, ours, why_unlike
from ddbench.executors.on_ray.host import THREADS
from ddbench.executors.on_ray.lane import Lane, Pass, Told
from ddbench.executors.on_ray.main_thread import MainThread, Stopped
from ddbench.executors.on_ray.scratch import clear, held, require_space, scratch_folder
from ddbench.executors.on_ray.values import Host
from ddbench.executors.on_ray.worker import Worker
from ddbench.load.progress import Progress
from ddbench.plan.expand import expand
from ddbench.plan.read import parse_sweep
from ddbench.records import Failure, Launch

TRIALS = expand(parse_sweep("name: x\narms: [autoregressive]\n", file="x.yaml"))
ALPHA = Host("alpha", "1", "10.0.0.1", {})
BETA = Host("beta", "2", "10.0.0.2", {})


class Wire:
    """A clock that is `ahead_s` of ours, at the other end of a network that takes these times."""

    def __init__(self, ahead_s: float, times_s: list[tuple[float, float]]) -> None:
        self.now = 1000.0
        self._ahead_s = ahead_s
        self._times_s = iter(times_s)

    def ask(self) -> float:
        there_s, back_s = next(self._times_s)
        self.now += there_s
        theirs = self.now + self._ahead_s
        self.now += back_s
        return theirs


def test_the_offset_of_the_quickest_round_is_taken_and_bounds_the_truth() -> None:
    wire = Wire(5.0, [(0.5, 0.1), (0.001, 0.003), (0.2, 0.2)])

    offset = measure_offset(wire.ask, rounds=3, clock=lambda: wire.now)

    assert offset.error_s == pytest.approx(0.002)
    assert abs(offset.offset_s - 5.0) <= offset.error_s


def test_a_clock_that_drifts_is_taken_in_the_middle() -> None:
    found = drifted(Offset(1.0, 0.001), Offset(1.004, 0.002))

    assert found.offset_s == pytest.approx(1.002)
    assert found.error_s == pytest.approx(0.004)


def test_a_block_given_back_is_taken_by_who_waited_for_it() -> None:
    queue = BlockQueue([TRIALS])
    assert queue.take(lambda _: True) == TRIALS
    taken: list[object] = []
    waiting = threading.Thread(target=lambda: taken.append(queue.take(lambda _: True)))

    waiting.start()
    queue.done(TRIALS[1:])
    waiting.join(timeout=30)

    assert taken == [TRIALS[1:]]


def test_what_nobody_can_run_is_left() -> None:
    queue = BlockQueue([TRIALS])

    assert queue.take(lambda _: False) is None
    assert queue.left() == TRIALS


def test_a_closed_queue_gives_nothing() -> None:
    queue = BlockQueue([TRIALS])
    queue.close()

    assert queue.take(lambda _: True) is None


@pytest.mark.parametrize("is_begun", [True, False])
def test_a_trial_is_tried_again_after_one_lost_worker_and_left_failed_after_two(
    is_begun: bool,
) -> None:
    told: list[LaunchEvent] = []
    shared = Pass(None, None, BlockQueue([]), MainThread(), None, None, None)
    lane = Lane(shared, ALPHA)
    lost = Failure("worker_lost", "killed", "Do nothing.")
    job = LaunchJob(TRIALS[0], {}, (), Path("plain-1.log"))
    pending = deque(TRIALS)

    for _ in range(2):
        so_far = Told(told.append)
        if is_begun:
            so_far.record(TrialStarted(pending.popleft()))
        lane.note_loss(lost, job, pending, so_far)

    failed = [event.result.trial for event in told if isinstance(event, TrialEnded)]
    assert failed == [TRIALS[0]] * (2 if is_begun else 1)
    assert list(pending) == TRIALS[1:]
    launches = [event.launch for event in told if isinstance(event, LaunchEnded)]
    assert [launch.failure for launch in launches] == [lost, lost]


def test_calls_run_in_the_main_thread_and_end_with_it() -> None:
    main = MainThread()
    seen: list[object] = []

    def lane() -> None:
        seen.append(main.call(threading.current_thread))
        try:
            main.call(int, "no number")
        except Stopped as stopped:
            seen.append(stopped)

    thread = threading.Thread(target=lane)
    thread.start()
    with pytest.raises(ValueError, match="no number"):
        main.serve_while(thread.is_alive)
    thread.join(timeout=30)

    assert seen[0] is threading.main_thread()
    assert isinstance(seen[1], Stopped)


def test_progress_of_shards_counts_once_all_have_said_something() -> None:
    board = Board()
    board.clear("alpha", 2)
    board.put("alpha", 0, Progress(done=3, failed=1, total=8, tokens=30, elapsed_s=1.0))
    early = board.read("alpha")

    board.put("alpha", 1, Progress(done=2, failed=0, total=7, tokens=20, elapsed_s=2.0))

    assert early is None
    assert board.read("alpha") == Progress(done=5, failed=1, total=15, tokens=50, elapsed_s=2.0)


def test_clients_elsewhere_reach_a_server_that_listens_everywhere() -> None:
    here = "http://127.0.0.1:30000"

    assert reachable(here, "0.0.0.0", ALPHA, [ALPHA, BETA]) == (
        "http://10.0.0.1:30000",
        [ALPHA, BETA],
    )
    assert reachable(here, "127.0.0.1", ALPHA, [ALPHA, BETA]) == (here, [ALPHA])
    assert reachable("http://h:1", "127.0.0.1", ALPHA, [BETA]) == ("http://h:1", [BETA])


ASK = """
import sys
from ray import cloudpickle
print(cloudpickle.loads(open(sys.argv[1], "rb").read())())
"""


@pytest.mark.parametrize(
    ("version", "why"), [(None, "has no ddbench"), ("0.0.7", "has ddbench 0.0.7, and this is")]
)
def test_a_host_with_another_ddbench_or_none_is_told_by_name(
    tmp_path: Path, version: str | None, why: str
) -> None:
    """The question is sent by its code, so that it is understood where there is no ddbench."""
    cloudpickle = pytest.importorskip("ray.cloudpickle")
    from ddbench.executors.on_ray.code import asker

    (tmp_path / "ask").write_bytes(cloudpickle.dumps(asker()))
    (tmp_path / "ddbench").mkdir()
    there = tmp_path / "ddbench" / "__init__.py"
    there.write_text(f"__version__ = {version!r}\n" if version else "raise ImportError\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}

    said = subprocess.run(
        [sys.executable, "-c", ASK, tmp_path / "ask"],
        env=env, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert why in str(why_unlike(Code(*eval(said.stdout)), ours()))


def test_the_same_code_is_no_mismatch_and_a_changed_file_is() -> None:
    mine = ours()

    assert why_unlike(mine, ours()) is None
    assert "whose files are not those" in str(
        why_unlike(Code(mine.version, "0" * 64, mine.python), mine)
    )


def test_scratch_of_a_run_is_removed_and_that_of_another_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DDBENCH_SCRATCH", str(tmp_path))
    mine, other = scratch_folder("run", "alpha"), scratch_folder("more", "alpha")
    for folder in (mine, other):
        with held(folder):
            (folder / "server.log").touch()

    stopped = clear("run")

    assert stopped == []
    assert not mine.exists()
    assert (other / "server.log").exists()


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    require_space(tmp_path)
    with pytest.raises(RunError, match="cannot write to"), held(Path("/proc/nothing")):
        pass


def test_a_host_without_space_fails_its_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DDBENCH_SCRATCH", "/proc/nothing")
    monkeypatch.setenv(THREADS, "1")  # it puts this back to what the process began with
    worker = Worker("run", ALPHA, None, ClientPlan((ALPHA,)), {})

    launch = worker.start(LaunchJob(TRIALS[0], {}, (), tmp_path / "plain-1.log"))

    assert isinstance(launch, Launch)
    assert launch.failure is not None
    assert launch.failure.crash_class == "disk_full"
    assert "cannot write to /proc/nothing" in launch.failure.evidence
    assert launch.environment.facts["host.name"] == "alpha"
    assert worker.stop() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a small disk")
def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", tmp_path]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("may not mount")
    try:
        require_space(tmp_path)
        (tmp_path / "server.log").write_bytes(bytes(2**20 + 2**19))

        with pytest.raises(RunError, match="is full"):
            require_space(tmp_path)
    finally:
        subprocess.run(["umount", tmp_path], check=True)
