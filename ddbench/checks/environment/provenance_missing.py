from collections.abc import Iterator

from ddbench.checks.evidence import NO_COUNTERS, Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import LOAD
from ddbench.checks.rule import rule


@rule(
    "DDB308",
    "provenance-missing",
    Severity.INFO,
    remedy="Run the probes again on this host, with the server's interpreter in the sweep file.",
    needs=(LOAD,),
)
def provenance_missing(evidence: Evidence) -> Iterator[Outcome]:
    """It is not recorded exactly what ran.

    ## Why it matters
    A result whose server version, weights or counters are unknown cannot be compared with a later
    one: a stale file once passed for a speedup of 519 %.

    ## How it is computed
    A trial should hold: an environment with the server's version, hashes of target and (when it
    drafts) drafter, and counters read before and after the load.

    ## Example
    Bad: no environment was recorded.
    Good: version, both hashes, both counter snapshots.
    """
    missing = []
    facts = evidence.environment.facts if evidence.environment is not None else {}
    if evidence.environment is None:
        missing.append("the environment")
    else:
        if evidence.server_version is None:
            missing.append("the server's version")
        drafts = evidence.speculation is not None and evidence.speculation.algorithm is not None
        for part in ("target", "drafter") if drafts else ("target",):
            if not any(name.startswith(part) and "sha256" in name for name in facts):
                missing.append(f"a hash of the {part}'s weights")
    if evidence.counters_after == NO_COUNTERS:
        missing.append("counters")
    if missing:
        yield f"not recorded: {', '.join(missing)}"
