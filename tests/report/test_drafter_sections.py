"""Drafters, service levels and drift as sections: nothing of others comes alive, n stands by."""

from dataclasses import replace

import pytest

from ddbench.compare.drafter import Speed, TreeVerdict
from ddbench.compare.drift import Drift, ServerDrift
from ddbench.compare.slo import Held, Recommendation, Setting
from ddbench.predict.drafter import Bin, Calibration, Coverage, DrafterFacts
from ddbench.report.comparison_formats import comparison_markdown
from ddbench.report.drafter_sections import drafter_sections
from ddbench.report.drafters import DrafterReport
from ddbench.report.drift_sections import drift_section
from ddbench.report.slo_sections import slo_section
from ddbench.stats.interval import Interval
from ddbench.stats.service_level import Limit

NASTY = "<script>alert(1)</script>|`x`"


def share(value: float) -> Interval:
    return Interval(value, value - 0.05, value + 0.05, 48, 0.95, "log jackknife of the odds")


RATIO = Interval(1.318, 1.268, 1.369, 48, 0.95, "log jackknife over prompts")
FACTS = DrafterFacts(
    arm="drafts",
    draft_model=NASTY,
    prompts=48,
    depth=7,
    topk=16,
    coverage=(Coverage(1, 2756, {1: share(0.84), 2: share(0.9)}),),
    mismatches=526,
    caught={2: share(0.437)},
    calibration=(
        Calibration(
            "first choices",
            2756,
            (Bin(0.9, 1.0, 2000, 0.97, share(0.94)),),
            error=0.0149,
            by_chance=0.0115,
            stated_over_hit=share(1.02),
        ),
    ),
)
VERDICT = TreeVerdict(
    drafter=NASTY,
    tree=NASTY,
    linear="linear-8",
    predicted=RATIO,
    ceiling=RATIO,
    measured=RATIO,
    speeds=(Speed(8, RATIO, "better"),),
    greedy=True,
)
REPORT = DrafterReport("run", "drafts", FACTS, (VERDICT,), (f"{NASTY} was left out",))
SETTING = Setting(
    "run",
    NASTY,
    replace(RATIO, value=512.3),
    (Held(Limit("tpot_s", None, 0.02), share(0.012), "met within noise"),),
)
LEVEL = Recommendation(
    concurrency=8,
    limits=(Limit("tpot_s", None, 0.02),),
    best=SETTING,
    settings=(SETTING,),
    rivals=(NASTY,),
    faster=(NASTY,),
    left_out={NASTY: (NASTY,)},
)
DRIFT = Drift(2, RATIO, (ServerDrift("run", NASTY, 8, RATIO),))


def test_a_drafter_is_one_sentence_then_tables_with_their_n() -> None:
    text = comparison_markdown(list(drafter_sections([REPORT])))

    assert "the tree helps: tokens/step 1.318x [1.268, 1.369] n=48 measured" in text
    assert "Of 526 linear steps that meet a wrong first choice" in text
    assert "84.0 % [79.0, 89.0] n=48" in text
    assert "expected calibration error 1.49% over 2756 candidates (1.15% by chance alone)" in text
    assert "| 0.9 to 1.0 | 2000 | 97.0 % | 94.0 % [89.0, 99.0] n=48 |" in text
    assert "(above 1 it promises too much, below 1 too little)" in text


def test_nothing_recorded_is_no_section() -> None:
    assert list(drafter_sections([])) == []


def test_a_recording_that_cannot_be_read_is_said_and_has_no_tables() -> None:
    torn = DrafterReport("run", "drafts", None, (), ("no answer was recorded whole",))

    (only,) = drafter_sections([torn])

    assert only.header == ()
    assert "no answer was recorded whole" in comparison_markdown([only])


def test_a_drafter_that_misses_nothing_has_nothing_to_catch() -> None:
    perfect = replace(REPORT, facts=replace(FACTS, mismatches=0, caught={}))

    text = comparison_markdown(list(drafter_sections([perfect])))

    assert "No step of a linear draft meets a wrong first choice." in text


def test_a_level_says_which_number_it_limits_and_that_noise_decides() -> None:
    text = comparison_markdown([slo_section([LEVEL])])

    assert "mean tpot_s < 0.02 at concurrency 8".replace("<", "&lt;") in text
    assert "meets it, within noise, 512 [1, 1] n=48 tok/s (mean tpot_s 12.0 ms [" in text


def test_no_best_arm_is_said() -> None:
    missed = replace(SETTING, held=(replace(SETTING.held[0], met="missed"),))
    none = replace(LEVEL, best=None, settings=(missed,), rivals=(), faster=(), left_out={})
    unjudged = replace(none, settings=())

    assert "at concurrency 8: none does." in comparison_markdown([slo_section([none])])
    assert "no arm could be judged." in comparison_markdown([slo_section([unjudged])])


def test_drift_is_a_sentence_and_a_row_a_server() -> None:
    text = comparison_markdown([drift_section(DRIFT)])

    assert "tok/s changed by +31.8% [+26.8%, +36.9%]" in text
    assert "1.32x [1.27, 1.37] n=48" in text
    assert "a steady drift meets both arms of a comparison alike" in text


def test_after_an_odd_number_of_visits_a_steady_drift_is_not_said_to_cancel() -> None:
    text = comparison_markdown([drift_section(replace(DRIFT, visits=3))])

    assert "a steady drift is not quite the same for arms that ran first and last" in text
    assert "alike" not in text


@pytest.mark.parametrize(
    "sections",
    [list(drafter_sections([REPORT])), [slo_section([LEVEL])], [drift_section(DRIFT)]],
    ids=["drafter", "level", "drift"],
)
def test_names_of_others_stay_text(sections) -> None:
    text = comparison_markdown(sections)

    for line in text.splitlines():
        outside = "".join(line.split("``")[::2])  # code spans hold the names
        assert "<script>" not in outside
