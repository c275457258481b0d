from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import LOAD, REQUESTS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule


@rule(
    "DDB126",
    "answer-longer-than-asked",
    Severity.ERROR,
    remedy="Check that an accepted block is cut at max_new_tokens before it is counted.",
    needs=(REQUESTS, LOAD),
)
def answer_longer_than_asked(evidence: Evidence) -> Iterator[Outcome]:
    """No answer exceeds max_new_tokens, and one that ended for length has exactly that many.

    ## Why it matters
    A step commits several tokens at once; if the block is not cut, an answer overshoots, its
    throughput counts tokens nobody asked for, and two arms no longer do the same work.

    ## How it is computed
    completion_tokens <= max_new_tokens for every answer; equal where finish_reason is "length";
    len(output_ids) = completion_tokens where ids are recorded. Exact.

    ## Example
    Bad: 67 tokens where 64 were asked for.
    Good: 64 tokens and finish_reason length; 17 tokens and stop.
    """
    if evidence.load is None:
        return
    asked = evidence.load.max_new_tokens
    offenders = []
    for r in evidence.completed:
        ended = f"{r.prompt_id} ended for {r.finish_reason} with {r.completion_tokens} tokens"
        if r.completion_tokens > asked or (
            r.finish_reason == "length" and r.completion_tokens != asked
        ):
            offenders.append(f"{ended}, {asked} were asked for")
        elif r.output_ids is not None and len(r.output_ids) != r.completion_tokens:
            offenders.append(f"{ended} and {len(r.output_ids)} token ids")
    if offenders:
        yield some_of(offenders, len(evidence.completed), "answers")
