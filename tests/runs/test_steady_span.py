"""When a closed loop kept all its requests in flight."""

from dataclasses import replace

from ddbench.records import DecodeWindow, LogExcerpt, RequestFailed


def sent(result, *times_s, concurrency):
    load = replace(result.trial.load, concurrency=concurrency, count=len(times_s))
    requests = tuple(RequestFailed(f"p{n}", at_s, 0.0, "x") for n, at_s in enumerate(times_s))
    return replace(result, trial=replace(result.trial, load=load), requests=requests)


def test_it_begins_when_the_last_connection_sends_and_ends_with_the_last_prompt(make_result):
    result = sent(make_result(), 0.0, 0.2, 0.9, 0.1, 1.4, concurrency=3)

    assert result.steady_span_s == (0.2, 1.4)


def test_prompts_that_all_left_at_once_have_no_steady_span(make_result):
    assert sent(make_result(), 0.0, 0.1, concurrency=2).steady_span_s is None


def test_an_open_loop_has_no_number_of_requests_to_keep(make_result):
    assert sent(make_result(), 0.0, 0.1, 0.2, concurrency=0).steady_span_s is None


def test_its_windows_lie_in_it_from_end_to_end(make_result):
    """The first line of each rank after its beginning is about a time before it, too."""
    ranks = ["DP0", "DP1", "DP0", "DP0", "DP1", "DP0"]
    windows = tuple(
        DecodeWindow(None, rank, n, 0, None, None, None, None, None) for n, rank in enumerate(ranks)
    )
    result = replace(make_result(), log=LogExcerpt(windows, steady_decode=(1, 5)))

    assert [window.running_requests for window in result.steady_windows] == [3, 4]
    assert replace(result, log=LogExcerpt(windows)).steady_windows is None
