"""A sweep run in parts, and foretold."""

import re


def test_a_dry_run_starts_nothing_and_says_what_it_does_not_know(
    ddbench, write_rude_sweep, tmp_path
):
    sweep = write_rude_sweep("fork")

    done = ddbench("sweep", sweep, "--out", tmp_path / "run", "--dry-run")

    assert done.returncode == 0, done.stderr
    assert "2 launches, 8 trials, 32 requests, at most 128 generated tokens" in done.stdout
    assert "time: not known" in done.stdout
    assert "-m sglang.launch_server" in done.stdout
    assert not (tmp_path / "run").exists()
    assert not (sweep.parent / "pids").exists()


def test_a_sweep_in_parts_is_the_whole_sweep(
    sweeper, ddbench, read_run, write_rude_sweep, tmp_path
):
    arms = "[{plain: {algorithm: null}}, {other: {algorithm: null, env: {OTHER: '1'}}}]"
    sweep, out = write_rude_sweep(arms=arms, visits=1), tmp_path / "run"

    assert sweeper.run("sweep", sweep, "--out", out, "--arms", "other", "--limit", "3") == 0
    first = read_run(out)
    assert first.arms() == {"other"}
    assert len(first.trials()) == 3
    foretold = ddbench("sweep", "--resume", out, "--dry-run")
    assert sweeper.run("sweep", "--resume", out, "--seed", "5") == 0

    whole = read_run(out).trials()
    assert len(whole) == 8
    assert set(whole.values()) == {1}
    assert "2 launches, 5 trials" in foretold.stdout
    assert re.search(r"time: about \d+ s by what was measured", foretold.stdout)
    assert "assumed: 4 trials take as long as the slowest other arm" in foretold.stdout
    assert "not counted: 1 launches" in foretold.stdout


def test_a_dry_run_does_not_need_the_servers_interpreter(ddbench, write_rude_sweep, monkeypatch):
    monkeypatch.delenv("DDBENCH_SGLANG_PYTHON", raising=False)
    sweep = write_rude_sweep()
    text = sweep.read_text()
    sweep.write_text(re.sub("  python: .*\n", "", text))

    done = ddbench("sweep", sweep, "--dry-run")

    assert done.returncode == 0, done.stderr
    assert "no command on this machine" in done.stdout


def test_a_dry_run_says_that_repeats_may_end_early(ddbench, write_rude_sweep):
    rule = "{until: tokens_per_s, within: 0.03, at_most: 6}"

    done = ddbench("sweep", write_rude_sweep(repeats=rule, visits=1), "--dry-run")

    assert "1 launches, 12 trials" in done.stdout
    assert "at most: repeats of a trial end once its tokens_per_s is known to 3.0%" in done.stdout
