"""The one paragraph: what it calls fastest, and when it does not know."""

from collections.abc import Callable
from dataclasses import replace

from ddbench.checks.finding import Finding, Severity
from ddbench.checks.run import Report as Checked
from ddbench.records import RequestFailed, RunResult, Speculation
from ddbench.report.assemble import assemble
from ddbench.report.sections import plain

Make = Callable[..., RunResult]


def answered(results: list[RunResult], *findings: Finding) -> str:
    return plain(assemble("x", [], results, checked=Checked(findings, ())).answer).strip()


def finding(severity: Severity) -> Finding:
    return Finding("DDB101", severity, "somewhere", "something", "Do something.")


def test_the_fastest_arm_is_named_with_what_it_beats(sweep: list[RunResult]) -> None:
    said = answered([r for r in sweep if r.trial.load.concurrency == 1])

    assert "At concurrency 1 tree-8-31-4 gave the most tok/s, " in said
    assert "1.29x [1.29, 1.29] n=2 those of linear-8, 3." in said
    assert "those of autoregressive." in said
    assert "not told apart" not in said


def test_repeats_that_overlap_do_not_tell_arms_apart(make_result: Make) -> None:
    def trial(arm: str, repeat: int, wall_s: float) -> RunResult:
        return replace(make_result(arm, repeat=repeat), wall_s=wall_s)

    said = answered(
        [
            *(trial("linear-8", 0, 10.0), trial("linear-8", 1, 14.0)),
            *(trial("tree-8-31-4", 0, 12.0), trial("tree-8-31-4", 1, 10.0)),
        ]
    )

    assert "tree-8-31-4 gave the most tok/s" in said
    assert "those of linear-8 (not told apart)" in said


def test_every_arm_that_is_not_told_apart_from_the_fastest_is_named(make_result: Make) -> None:
    """The second is surely slower, and the third, which is slower and noisy, may be as fast."""

    def trials(arm: str, speculation: Speculation, *walls_s: float) -> list[RunResult]:
        found = []
        for repeat, wall_s in enumerate(walls_s):
            one = make_result("tree-8-31-4", repeat=repeat)
            server = replace(one.trial.server, speculation=speculation)
            trial = replace(one.trial, arm=arm, server=server)
            found.append(replace(one, trial=trial, wall_s=wall_s))
        return found

    said = answered(
        [
            *trials("tree-8-31-4", Speculation("DDTREE", 8, 31, 4), 10.0, 10.0),
            *trials("tree-8-15-4", Speculation("DDTREE", 8, 15, 4), 10.5, 10.5),
            *trials("tree-8-7-4", Speculation("DDTREE", 8, 7, 4), 10.1, 13.0),
            *trials("tree-8-63-4", Speculation("DDTREE", 8, 63, 4), 20.0, 20.0),
        ]
    )

    assert (
        "1.05x [1.05, 1.05] n=2 those of tree-8-15-4; not told apart from tree-8-7-4. "
        in f"{said} "
    )


def test_arms_of_different_models_are_not_ranked(make_result: Make) -> None:
    other = make_result("tree-8-31-4")
    server = replace(other.trial.server, model="another")
    other = replace(other, trial=replace(other.trial, server=server))

    said = answered([make_result("linear-8"), other])

    assert "different models" in said
    assert "the most tok/s" not in said


def test_an_arm_whose_requests_failed_is_not_ranked(make_result: Make) -> None:
    """Only its short answers were left: at half the load it would look fast."""
    broken = make_result("tree-8-31-4")
    first, *others = broken.requests
    failed = RequestFailed(first.prompt_id, first.sent_s, first.lateness_s, "connection reset")
    broken = replace(broken, requests=(failed, *others))

    said = answered([make_result("linear-8"), broken])

    assert "At concurrency 1 linear-8 gave the most tok/s" in said
    assert "tree-8-31-4 is not ranked (repeat 0: 1 requests failed)" in said


def test_tokens_a_step_are_said_apart_from_speed(sweep: list[RunResult]) -> None:
    said = answered([r for r in sweep if r.trial.load.concurrency == 1])

    assert "Of the trees tree-8-31-4 gained the most in tokens/step, 1.33x" in said
    assert "tree-8-31-4 over linear-8 in tok/s: one concurrency shows no crossover." in said


def test_errors_come_before_any_number(sweep: list[RunResult]) -> None:
    two = answered(sweep, finding(Severity.ERROR), finding(Severity.ERROR))

    assert two.startswith("Clear up the 2 ERROR findings before using these numbers. ")
    assert not answered(sweep, finding(Severity.INFO)).startswith("Clear")


def test_a_probe_is_never_called_fast(make_result: Make) -> None:
    probe = make_result()
    load = replace(probe.trial.load, record_drafts=True)

    said = answered([replace(probe, trial=replace(probe.trial, load=load))])

    assert said == "Measured on the embedded demo model, CPU. Nothing was timed in a closed loop."
