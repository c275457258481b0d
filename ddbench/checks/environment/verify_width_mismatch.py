from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.limits import number_setting
from ddbench.checks.needs import SERVER_RECORD, SPECULATIVE_ARM
from ddbench.checks.rule import rule
from ddbench.checks.startup_values import startup_lines, startup_values
from ddbench.records import Speculation

DFLASH_FAMILY = ("DFLASH", "DDTREE")


@rule(
    "DDB301",
    "verify-width-mismatch",
    Severity.ERROR,
    remedy="Size graph and verify buffers by budget + 1, and pass block size and budget apart.",
    needs=(SPECULATIVE_ARM, SERVER_RECORD),
)
def verify_width_mismatch(evidence: Evidence) -> Iterator[Outcome]:
    """The server verifies as many tokens a request as the arm says: budget + 1, or the block size.

    ## Why it matters
    Buffers of a captured graph that were sized by the block size while a tree has budget + 1 nodes
    lead to illegal memory accesses or, quietly, to rows of another request. A drafter that fills
    another number of masks than it was asked for is another drafter.

    ## How it is computed
    From the start-up lines and the resolved arguments: block_size of the draft runner and of the
    tree worker = block size asked; tree_budget = budget asked; max_tree_nodes = tree_budget + 1;
    num_draft_tokens of a linear DFLASH arm = block size; num_tokens_per_req of the captured target
    graph = verify width. Exact, each where it is stated.

    ## Example
    Bad: tree_budget=16 and a target graph captured with num_tokens_per_req=8.
    Good: tree_budget=16, max_tree_nodes=17, num_tokens_per_req=17.
    """
    spec = evidence.speculation
    if spec is None or spec.algorithm not in DFLASH_FAMILY:
        yield Lacks("an arm of the DFLASH family")
        return
    stated = list(_stated(evidence, spec))
    if not stated:
        yield Lacks("start-up lines or arguments that state a block size, budget or width")
    wrong = [f"{what} is {said}, not {want}" for what, said, want in stated if said != want]
    if wrong:
        yield ", ".join(wrong)


def _stated(evidence: Evidence, spec: Speculation) -> Iterator[tuple[str, int, int]]:
    """(what, stated, expected) of every width that the server states."""
    runner = startup_values(evidence, "dflash_draft_runner")
    worker = startup_values(evidence, "ddtree_worker")
    for where, values in (("the draft runner", runner), ("the tree worker", worker)):
        if spec.block_size is not None and values.get("block_size", "").isdigit():
            yield f"block_size of {where}", int(values["block_size"]), spec.block_size
    if worker.get("tree_budget", "").isdigit():
        budget = int(worker["tree_budget"])
        if spec.budget is not None:
            yield "tree_budget", budget, spec.budget
        if worker.get("max_tree_nodes", "").isdigit():
            yield "max_tree_nodes", int(worker["max_tree_nodes"]), budget + 1
    width = number_setting(evidence, "speculative_num_draft_tokens")
    if spec.budget is None and spec.block_size is not None and width is not None:
        yield "speculative_num_draft_tokens", width, spec.block_size
    if spec.verify_width is not None:
        for line in startup_lines(evidence, "graph_capture"):
            words = line.split("num_tokens_per_req=")
            if "target" in line and len(words) > 1:
                number = words[1].split(",")[0].strip()
                if number.isdigit():
                    yield "num_tokens_per_req of the target graph", int(number), spec.verify_width
