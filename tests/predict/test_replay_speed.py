import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[1] / "benchmarks" / "bench_replay.py"


def test_replay_is_fifty_times_as_fast_as_a_plain_heap_and_agrees_with_it() -> None:
    """In CPU seconds, so that a busy machine slows both; about 150 times was measured."""
    done = subprocess.run(
        [sys.executable, str(BENCH), "500"], capture_output=True, text=True, timeout=240
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "times as fast" in done.stdout
