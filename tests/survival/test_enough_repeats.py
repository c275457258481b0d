"""`repeats: {until: ...}`: as many as the precision takes, across kills and resumes."""

RULE = "{{until: tokens_per_s, within: {within}, at_most: {at_most}}}"


def repeats_of(run):
    return sorted(run.column("SELECT repeat FROM trials WHERE failure IS NULL"))


def test_repeats_end_as_soon_as_they_are_precise_enough(
    sweeper, ddbench, read_run, write_rude_sweep, tmp_path
):
    rule = RULE.format(within=0.9, at_most=20)
    sweep = write_rude_sweep(repeats=rule, visits=1, concurrency="[1]", step_s=0.05)

    assert sweeper.run("sweep", sweep, "--out", tmp_path / "run") == 0

    repeats = repeats_of(read_run(tmp_path / "run"))
    assert repeats == list(range(len(repeats)))
    assert 3 <= len(repeats) < 20
    again = ddbench("sweep", "--resume", tmp_path / "run", "--dry-run")
    assert "0 launches, 0 trials" in again.stdout
    assert "nothing is left to run" in again.stdout
    assert "not known" not in again.stdout


def test_repeats_that_never_agree_end_at_the_cap_and_each_visit_has_its_own(
    sweeper, read_run, write_rude_sweep, tmp_path
):
    rule = RULE.format(within=0.0001, at_most=4)
    sweep = write_rude_sweep(repeats=rule, visits=2, concurrency="[1]")

    assert sweeper.run("sweep", sweep, "--out", tmp_path / "run", "--limit", "3") == 0
    assert sweeper.run("sweep", "--resume", tmp_path / "run") == 0

    run = read_run(tmp_path / "run")
    assert repeats_of(run) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert set(run.trials().values()) == {1}
