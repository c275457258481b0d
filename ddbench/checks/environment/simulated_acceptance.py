from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Found, Outcome, Severity
from ddbench.checks.needs import SERVER_RECORD
from ddbench.checks.rule import rule
from ddbench.checks.startup_values import startup_lines

SIMULATION = "SGLANG_SIMULATE_ACC_LEN"
GLUE_GRAPH = "SGLANG_ENABLE_METADATA_GLUE_GRAPH"
OFF = ("", "0", "-1", "false", "False")


@rule(
    "DDB302",
    "simulated-acceptance",
    Severity.ERROR,
    remedy="Unset the variable and launch the server again; these results are no measurement.",
    needs=(SERVER_RECORD,),
)
def simulated_acceptance(evidence: Evidence) -> Iterator[Outcome]:
    """The server was told to fake acceptance, or to run with a plan known to be stale.

    ## Why it matters
    With SGLANG_SIMULATE_ACC_LEN the number of accepted drafts is drawn, not verified: the text is
    not the model's and the speed is that of an imagined drafter. With
    SGLANG_ENABLE_METADATA_GLUE_GRAPH and DFLASH acceptance collapses to about 1.

    ## How it is computed
    The server's environment variables, and its own start-up lines. Trials that are marked as
    probes (record_drafts) are exempt.

    ## Example
    Bad: SGLANG_SIMULATE_ACC_LEN=4.
    Good: the variable is unset, or 0.
    """
    if evidence.load is not None and evidence.load.record_drafts:
        return
    env = evidence.server_env
    said = [line for line in startup_lines(evidence, "simulated_acceptance") if line not in OFF]
    value = env.get(SIMULATION, "")
    if value not in OFF:
        yield f"{SIMULATION}={value} in the server's environment: acceptance is simulated"
    elif said:
        yield f"the log says {SIMULATION}={said[0]}: acceptance is simulated"
    if env.get(GLUE_GRAPH, "") not in OFF:
        yield Found(
            f"{GLUE_GRAPH}={env[GLUE_GRAPH]}: DFLASH runs on stale metadata",
            remedy="Unset the variable and launch the server again.",
        )
