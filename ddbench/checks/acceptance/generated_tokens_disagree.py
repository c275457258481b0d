from collections.abc import Iterator

from ddbench.checks.counter_deltas import gained
from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.limits import depth_limit
from ddbench.checks.needs import REQUESTS
from ddbench.checks.rule import Need, rule

COUNTER: Need[Evidence] = Need(
    "the counter generation_tokens (--enable-metrics)",
    lambda e: gained(e, "generation_tokens") is not None,
)


@rule(
    "DDB116",
    "generated-tokens-disagree",
    Severity.ERROR,
    remedy="Make sure nobody else used the server; then compare output_ids with completion_tokens.",
    needs=(REQUESTS, COUNTER),
)
def generated_tokens_disagree(evidence: Evidence) -> Iterator[Outcome]:
    """Tokens are conserved: the server's counter gains what the answers hold.

    ## Why it matters
    A deficit on the counter's side means tokens that were sent and never generated, or counted
    twice; a surplus means tokens that were generated for somebody else, or dropped. Throughput is
    wrong by as much.

    ## How it is computed
    generation_tokens_total after - before, against sum(completion_tokens). Equal, or above by up to
    D + 1 tokens a completed request, which overlap scheduling may compute past the end. With failed
    requests, whose tokens have no answer, only a deficit counts.

    ## Example
    Bad: the counter gained 3,412 and the answers hold 3,072.
    Good: 3,072 and 3,072.
    """
    counted = gained(evidence, "generation_tokens")
    answered = sum(r.completion_tokens for r in evidence.completed)
    if counted is None:
        return
    overrun = len(evidence.completed) * ((depth_limit(evidence) or 0) + 1)
    if counted < answered or (counted > answered + overrun and not evidence.failed):
        yield (
            f"generation_tokens gained {counted:.0f} and the {len(evidence.completed)} answers "
            f"hold {answered} tokens"
        )
