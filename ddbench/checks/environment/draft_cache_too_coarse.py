from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.needs import SETTINGS, SPECULATIVE_ARM
from ddbench.checks.rule import rule
from ddbench.checks.tokens_per_step import tokens_per_step

LOW = 1.5


@rule(
    "DDB309",
    "draft-cache-too-coarse",
    Severity.WARNING,
    remedy="Set --speculative-draft-kv-cache-dtype to fp8_e4m3 or bfloat16 and measure again.",
    needs=(SPECULATIVE_ARM, SETTINGS),
)
def draft_cache_too_coarse(evidence: Evidence) -> Iterator[Outcome]:
    """The drafter keeps its KV cache in four bits, and hardly anything is accepted.

    ## Why it matters
    The draft cache inherits the target's dtype unless told otherwise. The target bears four bits, a
    small drafter often does not: 1.10 to 1.25 accepted tokens against 2.90 to 3.00 with fp8 in one
    report. Low from the first window on, not decaying, is its mark.

    ## How it is computed
    kv_cache_dtype (or speculative_draft_kv_cache_dtype, which wins) contains "fp4", and tokens per
    step are below 1.5.

    ## Example
    Bad: kv_cache_dtype nvfp4, 1.2 tokens a step.
    Good: kv_cache_dtype nvfp4, draft cache fp8_e4m3, 2.9 tokens a step.
    """
    inherited = evidence.settings.get("kv_cache_dtype", "auto")
    own = evidence.settings.get("speculative_draft_kv_cache_dtype", "None")
    dtype = inherited if own in ("None", "null", "auto", "") else own
    if "fp4" not in dtype:
        return
    measured = tokens_per_step(evidence)
    if measured is None:
        yield Lacks("acceptance of the run")
    elif measured.mean < LOW:
        yield f"the draft KV cache is {dtype}, and a step yields {measured.mean:.2f} tokens"
