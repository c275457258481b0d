from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.needs import SPECULATIVE_ARM
from ddbench.checks.rule import rule


@rule(
    "DDB117",
    "speculation-never-ran",
    Severity.ERROR,
    remedy="Look in the start-up log for a fallback, and at the sampling options of the requests.",
    needs=(SPECULATIVE_ARM,),
)
def speculation_never_ran(evidence: Evidence) -> Iterator[Outcome]:
    """The arm asks for drafting, and nothing shows that a draft was ever verified.

    ## Why it matters
    A flag that a code path ignores (multimodal input, a grammar, log-probabilities) leaves plain
    decoding under the name of the drafting arm: its figures then say nothing about drafting. When
    just one witness is silent, that witness is broken, and its zeros are not zero acceptance.

    ## How it is computed
    Witnesses: spec_verify_ct of answers with more than one token; accept len of the log's decode
    lines; of another tool's result, its accept length. None of either: an error. One has counts and
    the other has none at all: an error that names the silent one.

    ## Example
    Bad: --speculative-algorithm EAGLE, and 120 decode lines without accept len.
    Good: 48 answers with spec_verify_ct.
    """
    if evidence.tool is not None:
        if evidence.tool.accept_length is None:
            yield "the server's arguments name drafts, and the file has no accept length"
        return
    long_answers = [r for r in evidence.completed if r.completion_tokens > 1]
    if not long_answers and not evidence.windows:
        yield Lacks("answers of more than one token, or decode windows")
        return
    answers_count = any(r.verify_ct for r in long_answers)
    log_counts = any(w.accept_len_logged for w in evidence.windows)
    witnesses = [
        f"{n} {what}"
        for n, what in ((len(long_answers), "answers"), (len(evidence.windows), "decode windows"))
        if n
    ]
    if not answers_count and not log_counts:
        yield f"none of {' and '.join(witnesses)} shows a verified draft"
    elif log_counts and long_answers and not answers_count:
        yield Found(
            f"the log has accept len, but none of {len(long_answers)} answers has spec_verify_ct",
            remedy="Take acceptance from the log; the per-request counters are not wired here.",
        )
    elif answers_count and evidence.windows and not log_counts:
        yield Found(
            f"the answers have spec_verify_ct, but none of {len(evidence.windows)} decode windows "
            "has accept len",
            remedy="Check that this is the log of the server that answered.",
        )
