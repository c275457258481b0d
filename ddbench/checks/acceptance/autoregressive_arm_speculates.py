from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import AUTOREGRESSIVE_ARM
from ddbench.checks.rule import Need, rule

WITNESS: Need[Evidence] = Need(
    "requests, decode windows or the server's arguments",
    lambda e: bool(e.completed or e.windows or e.settings),
)


@rule(
    "DDB118",
    "autoregressive-arm-speculates",
    Severity.ERROR,
    remedy="Launch the baseline without any speculative flag, and read /server_info back.",
    needs=(AUTOREGRESSIVE_ARM, WITNESS),
)
def autoregressive_arm_speculates(evidence: Evidence) -> Iterator[Outcome]:
    """The baseline must not draft.

    ## Why it matters
    Speedup is a ratio to plain decoding. A baseline that drafts (a flag in a shared environment, a
    checkpoint with its own MTP head) makes every speedup too small.

    ## How it is computed
    An arm with no algorithm must have no answer with spec_verify_ct > 0, no decode line with accept
    len, and no speculative_algorithm among the server's resolved arguments.

    ## Example
    Bad: arm autoregressive, accept len: 2.31 in its log.
    Good: decode lines without accept len.
    """
    signs = []
    if drafting := sum(bool(r.verify_ct) for r in evidence.completed):
        signs.append(f"{drafting} of {len(evidence.completed)} answers have spec_verify_ct")
    if logged := sum(bool(w.accept_len_logged) for w in evidence.windows):
        signs.append(f"{logged} of {len(evidence.windows)} decode lines have accept len")
    algorithm = evidence.settings.get("speculative_algorithm", "None")
    if algorithm not in ("None", ""):
        signs.append(f"speculative_algorithm is {algorithm}")
    if signs:
        yield "an autoregressive arm drafts: " + ", ".join(signs)
