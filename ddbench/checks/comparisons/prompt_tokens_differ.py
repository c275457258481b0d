from collections.abc import Iterator

from ddbench.checks.cells import cells_of
from ddbench.checks.evidence import Comparison
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule


@rule(
    "DDB403",
    "prompt-tokens-differ",
    Severity.ERROR,
    remedy="Use one chat template, tokenizer and thinking flag for all arms.",
    needs=(SEVERAL_RUNS,),
)
def prompt_tokens_differ(comparison: Comparison) -> Iterator[Outcome]:
    """The same prompt has the same number of tokens in every run.

    ## Why it matters
    If it has not, a chat template, a thinking flag or a tokenizer differs, and the arms answered
    different questions.

    ## How it is computed
    prompt_tokens by prompt id and source of prompts, over all runs. Exact.

    ## Example
    Bad: prompt gsm8k-3 has 71 tokens in linear-8 and 84 in tree-8-31-4.
    Good: 71 in both.
    """
    sizes: dict[tuple[str, str], dict[int, str]] = {}
    answers = 0
    for cell in cells_of(comparison):
        for run in cell.runs:
            if run.tool is not None:
                continue  # its requests have no names
            prompts = run.load.prompts if run.load is not None else ""
            for r in run.completed:
                answers += 1
                sizes.setdefault((prompts, r.prompt_id), {}).setdefault(r.prompt_tokens, cell.arm)
    if not answers:
        yield Lacks("completed requests")
    odd = [
        f"{prompt_id} has " + " and ".join(f"{n} tokens in {arm}" for n, arm in by_size.items())
        for (_, prompt_id), by_size in sizes.items()
        if len(by_size) > 1
    ]
    if odd:
        yield some_of(odd, len(sizes), "prompts")
