"""The windows that a real trial logged while all its requests were in flight."""

from ddbench.runs.store import RunStore


def test_windows_after_the_last_send_are_not_marked_as_steady(sweeper, write_rude_sweep, tmp_path):
    """The server logs a line when a request ends; the last two end after the last was sent."""
    sweep = write_rude_sweep(
        concurrency="[2]", count=10, step_s=0.1, visits=1, repeats="1", max_new_tokens=4
    )

    assert sweeper.run("sweep", sweep, "--out", tmp_path / "run") == 0

    with RunStore.open(tmp_path / "run") as store:
        (result,) = list(store.results())
    first, last = result.log.steady_decode
    assert len(result.log.decode) == 10
    assert 0 <= first < last <= 8
    assert result.steady_windows == result.log.decode[first + 1 : last]
