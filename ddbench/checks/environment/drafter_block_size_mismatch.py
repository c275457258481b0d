from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import STARTUP
from ddbench.checks.rule import rule
from ddbench.checks.startup_values import startup_lines


@rule(
    "DDB303",
    "drafter-block-size-mismatch",
    Severity.WARNING,
    remedy="Run the drafter at the block size of its own config, or say that it is not.",
    needs=(STARTUP,),
)
def drafter_block_size_mismatch(evidence: Evidence) -> Iterator[Outcome]:
    """The drafter runs at a block size that it was not trained for.

    ## Why it matters
    A block-diffusion drafter fills a fixed number of masks at once. With another number its guesses
    get worse, so a comparison of block sizes with one drafter compares training with use.

    ## How it is computed
    SGLang's own warning at start-up: "DFLASH block size mismatch: using ...".

    ## Example
    Bad: using speculative_num_draft_tokens=16 but draft config block_size=8.
    Good: no such line.
    """
    for line in startup_lines(evidence, "dflash_block_size_mismatch")[:1]:
        yield f"the server warns: using {line}"
