from datetime import timedelta

from ddbench.checks.prefill_times import PrefillTimes


def test_lines_of_the_edge_seconds_count_on_either_side(prefill):
    lines = [prefill(5.0, new_requests=1), prefill(0.0, new_requests=2), prefill(9.0)]
    times = PrefillTimes([*lines, prefill(3.0, ranks="DP1")], "")
    start = lines[1].logged_at

    assert times.admitted(start, start + timedelta(seconds=5)) == 3
    assert times.admitted(start + timedelta(seconds=5), start + timedelta(seconds=8)) == 1
    assert times.admitted(start + timedelta(seconds=6), start + timedelta(seconds=8)) == 0
    assert times.lines(start, start + timedelta(seconds=9)) == 3
