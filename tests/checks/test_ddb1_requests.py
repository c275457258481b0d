"""DDB120-DDB128: what each answer says of itself."""

from ddbench.checks.evidence import Evidence


def test_more_drafts_than_the_paths_hold_fires(answer, linear, fired):
    request = answer(verify_ct=10, correct_drafts=71)

    fired("DDB122", Evidence("run", speculation=linear, requests=(request,)), "71 drafts", "1 of 1")


def test_a_histogram_bin_beyond_the_depth_limit_fires(answer, linear, fired):
    request = answer(histogram=(2, 0, 0, 0, 0, 0, 0, 0, 8))

    fired("DDB122", Evidence("run", speculation=linear, requests=(request,)), "depth 8")


def test_all_drafts_accepted_is_possible(answer, linear, silent):
    request = answer(verify_ct=10, correct_drafts=70, histogram=(0, 0, 0, 0, 0, 0, 0, 10))

    silent("DDB122", Evidence("run", speculation=linear, requests=(request,)))
