"""DDB2xx: throughput, load and the client."""

from dataclasses import replace

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Severity
from ddbench.records import ClientHealth, Counters, RequestFailed


def steady_log(window, linear, gap_s, **changes):
    """Ten windows of 40 steps x 4 running x 3.0 tokens at 480 tok/s: one second each."""
    windows = tuple(window(gap_s * i, **changes) for i in range(20))
    return Evidence(
        "log", speculation=linear, windows=windows, settings={"decode_log_interval": "40"}
    )


def test_windows_whose_time_does_not_fit_their_tokens_fire(window, linear, fired, silent):
    silent("DDB201", steady_log(window, linear, 1.0))
    fired("DDB201", steady_log(window, linear, 1.5), "took 28 s", "19.0 s")
    depth_reported = steady_log(window, linear, 1.0, throughput_tokens_per_s=320.0)
    fired("DDB201", depth_reported, "28.5 s")


def test_windows_around_a_prefill_are_not_steady(window, linear, prefill, skipped):
    log = steady_log(window, linear, 1.0)
    lines = tuple(prefill(float(i)) for i in range(20))

    skipped("DDB201", replace(log, prefill=lines), "no prefill")


def test_client_and_log_see_the_same_tokens_pass(healthy, fired, silent, skipped):
    # 240 tokens in 5.8 s: 41 tok/s at the client; slack is 5 % and two windows of twelve.
    longer = replace(healthy, windows=healthy.windows + healthy.windows[:3])
    silent("DDB202", longer)
    fast = replace(
        longer, windows=tuple(replace(w, throughput_tokens_per_s=60.0) for w in longer.windows)
    )
    fired("DDB202", fast, "41.4 tok/s", "60.0 tok/s")
    skipped("DDB202", healthy, "10 log windows")
    two_ranks = tuple(replace(w, ranks=f"DP{i % 2}") for i, w in enumerate(longer.windows))
    skipped("DDB202", replace(longer, windows=two_ranks), "one rank")


def test_some_steps_outside_a_graph_fire(window, fired, silent):
    def log(*flags, **settings):
        windows = tuple(
            window(float(i), graph=g, running_requests=r) for i, (g, r) in enumerate(flags)
        )
        return Evidence("log", windows=windows, settings=settings)

    silent("DDB203", log((True, 4), (True, 5)))
    silent("DDB203", log((False, 4), (False, 5)))
    fired("DDB203", log((True, 32), (False, 33)), "1 of 2", "up to 32", "from 33")
    fired("DDB203", log((True, 4), (False, 4), (False, 2)), "2 of 3")
    eager = log((False, 4), disable_cuda_graph="False", device="cuda")
    assert fired("DDB203", eager, "did not disable").severity is Severity.WARNING


def test_a_concurrency_that_was_never_reached_fires(healthy, fired, silent):
    def running(*counts):
        windows = tuple(replace(healthy.windows[0], running_requests=count) for count in counts)
        return replace(healthy, windows=windows)

    silent("DDB204", healthy)
    silent("DDB204", running(1, 4, 4, 3, 4, 4, 2, 1))  # ramp and tail are left out
    fired("DDB204", running(1, 2, 2, 1, 2, 2), "1.8 requests", "where 4")


def test_without_a_log_the_clients_own_concurrency_counts(healthy, answer, fired, silent):
    def sent(gap_s):
        requests = tuple(answer(f"p{i}", sent_s=gap_s * i, e2e_s=1.0) for i in range(12))
        return replace(healthy, windows=(), requests=requests)

    silent("DDB204", sent(0.25))
    fired("DDB204", sent(0.5), "where 4 were")


def test_requests_that_wait_in_the_server_fire(healthy, window, fired, silent):
    silent("DDB205", healthy)
    queued = replace(healthy, windows=tuple(window(queued_requests=5) for _ in range(4)))
    fired("DDB205", queued, "5.0 requests queued", "4 of 4")
    retracted = replace(
        healthy, counters_after=replace(healthy.counters_after, retracted_requests=2.0)
    )
    fired("DDB205", retracted, "2 retractions")
    by_answers = replace(
        healthy,
        counters_after=Counters(),
        requests=tuple(replace(r, retractions=1) for r in healthy.completed),
    )
    fired("DDB205", by_answers, "8 retractions")


def test_a_slow_client_is_named(healthy, fired, silent):
    silent("DDB206", healthy)
    busy = ClientHealth(cpu_s=5.4, loop_lag_max_s=0.0, chunks=1)
    fired("DDB206", replace(healthy, client=busy), "5.4 s of processor time")
    stuck = ClientHealth(cpu_s=0.1, loop_lag_max_s=0.4, chunks=1)
    fired("DDB206", replace(healthy, client=stuck), "stood still for 0.40 s")
    late = tuple(replace(r, lateness_s=0.2) for r in healthy.completed)
    fired("DDB206", replace(healthy, requests=late), "0.20 s late")


def test_a_p99_of_fewer_than_1000_is_pointed_out(healthy, fired, silent):
    assert fired("DDB207", healthy, "8 requests", "slowest single").severity is Severity.INFO
    fired("DDB207", replace(healthy, requests=healthy.requests * 124), "992 requests", "10 slowest")
    silent("DDB207", replace(healthy, requests=healthy.requests * 125))


def test_the_line_after_a_pause_pulls_the_mean_down(window, fired, silent):
    def log(first, *, pause_s=0.0, after_pause=480.0):
        rest = [window(i + 1.0) for i in range(5)]
        paused = [window(5.0 + pause_s + 1.0 + i) for i in range(5)]
        paused[0] = replace(paused[0], throughput_tokens_per_s=after_pause)
        return Evidence("log", windows=(window(0.0, throughput_tokens_per_s=first), *rest, *paused))

    silent("DDB208", log(470.0))
    fired("DDB208", log(1.0), "436.5", "480.0 without the 1")
    fired("DDB208", log(470.0, pause_s=60.0, after_pause=3.0), "without the 2")


def test_failed_requests_are_named_with_their_reason(healthy, fired, silent):
    silent("DDB209", healthy)
    lost = tuple(RequestFailed(f"q{i}", 0.0, 0.0, "HTTP 400: too long", 400) for i in range(2))
    fired("DDB209", replace(healthy, requests=healthy.requests + lost), "2 of 10", "too long")
    aborted = tuple(replace(r, finish_reason="abort") for r in healthy.completed)
    fired("DDB209", replace(healthy, requests=aborted), "8 of 8", "aborted")
