from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.limits import (
    PRINTED_HALF_UNIT,
    counts_after_the_cut,
    depth_limit,
    log_interval,
    verified_tokens,
)
from ddbench.checks.needs import ACCEPT_LEN, DEPTH_LIMIT, VERIFY_COUNTS
from ddbench.checks.rule import rule
from ddbench.checks.weighted_means import mean_accept_len

EXACT_INTERVAL = 0.01
UNKNOWN_WEIGHTS = 0.03
FEWEST_WINDOWS = 10  # without the interval, coverage of the run cannot be computed
LEAST_COVERED = 0.5


@rule(
    "DDB103",
    "tokens-per-step-sources-disagree",
    Severity.ERROR,
    remedy="Check that the log window holds this run alone, and which side lacks the bonus token.",
    needs=(ACCEPT_LEN, VERIFY_COUNTS, DEPTH_LIMIT),
)
def tokens_per_step_sources_disagree(evidence: Evidence) -> Iterator[Outcome]:
    """Tokens per verify step, from the server's log and from the answers, must agree.

    ## Why it matters
    Both count the same events. When they differ by more than truncation explains, the log
    includes another run or the warm-up, requests were retried, or one side counts the bonus
    token and the other does not.

    ## How it is computed
    Requests: sum(completion_tokens - 1 - retractions) / sum(spec_verify_ct). The first token comes
    from prefill and no verify step produced it; SGLang's own spec_accept_length leaves it in and
    so reads high by 1/verify_ct.
    Log: mean accept len over request-steps. A line does not print its number of request-steps, so
    the mean is bracketed, with weights between the requests running at this line and the last.
    The log may read high by F*D/S where the server counts before the cut at the end of an answer
    (all but SGLang up to 0.5.11), and differ by as much either way with overlap scheduling, whose
    extra steps it counts. Slack: half a printed unit, 1 % with --decode-log-interval 1, else 3 %,
    and for steps that no line covers, any value from 1 to D + 1.

    ## Example
    Bad: answers say 3.9 tokens a step and the log 2.9: the log lost the bonus token.
    Good: answers say 3.88 and the log 3.91 over 40 requests.
    """
    logged, depth = mean_accept_len(evidence), depth_limit(evidence)
    if logged is None or depth is None:
        return
    if evidence.failed:
        yield Lacks("a run without failed requests (their steps are in the log only)")
        return
    counted = [r for r in evidence.completed if r.verify_ct]
    steps = sum(r.verify_ct or 0 for r in counted)
    from_requests = sum(verified_tokens(r) for r in counted) / steps
    unseen = 0.0
    if logged.steps is not None:
        unseen = max(0.0, 1.0 - logged.steps / steps)
        if unseen > 1.0 - LEAST_COVERED:
            yield Lacks("log lines that cover the run (--decode-log-interval 1 for short ones)")
            return
    elif logged.windows < FEWEST_WINDOWS:
        yield Lacks(f"--decode-log-interval, or {FEWEST_WINDOWS} log windows")
        return
    share = EXACT_INTERVAL if log_interval(evidence) == 1 else UNKNOWN_WEIGHTS
    slack = PRINTED_HALF_UNIT + share * from_requests
    slack += unseen * max(depth + 1 - logged.low, logged.high - 1.0)
    cut = 0.0 if counts_after_the_cut(evidence) else len(counted) * depth / steps
    overrun = 0.0 if evidence.settings.get("disable_overlap_schedule") == "True" else cut
    if logged.high < from_requests - slack - overrun:
        side = "below"
    elif logged.low > from_requests + slack + cut + overrun:
        side = "above"
    else:
        return
    middle = (logged.low + logged.high) / 2
    yield (
        f"{from_requests:.2f} tokens a step from {len(counted)} answers, {middle:.2f} from "
        f"{logged.windows} log windows, which is {side} what cuts, printing and partial windows "
        f"explain ({slack + cut + overrun:.2f})"
    )
