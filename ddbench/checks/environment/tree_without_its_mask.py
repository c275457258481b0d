from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.limits import number_setting
from ddbench.checks.needs import SETTINGS, TREE_ARM
from ddbench.checks.rule import rule

MASKLESS = ("trtllm_mha", "trtllm_mla", "cutlass_mla", "flashmla")
NEEDS_TOPK = ("fa3", "fa4")  # build tree metadata for topk > 1 only


@rule(
    "DDB304",
    "tree-without-its-mask",
    Severity.ERROR,
    remedy="Use triton or flashinfer (or fa3 with topk > 1) and page size 1 for tree arms.",
    needs=(TREE_ARM, SETTINGS),
)
def tree_without_its_mask(evidence: Evidence) -> Iterator[Outcome]:
    """A tree must be verified by an attention backend that applies its mask.

    ## Why it matters
    Without the mask every node sees its siblings: the target is asked about a text that does not
    exist, acceptance collapses to 1 to 3, and what is accepted is no longer what the target would
    have said. Nothing crashes.

    ## How it is computed
    From the resolved arguments of a tree arm: the attention backends are none of those that ignore
    the mask (trtllm_mha and other kernels without custom masks); fa3 and fa4 with
    speculative_eagle_topk > 1; page_size = 1, since the kept slots of a path are scattered.

    ## Example
    Bad: attention_backend trtllm_mha, or page_size 64.
    Good: attention_backend triton, page_size 1.
    """
    names = ("attention_backend", "decode_attention_backend", "prefill_attention_backend")
    wrong = []
    for name in names:
        backend = evidence.settings.get(name, "None")
        if backend in MASKLESS:
            wrong.append(f"{name} {backend} applies no tree mask")
        topk = number_setting(evidence, "speculative_eagle_topk")
        if backend in NEEDS_TOPK and topk == 1:
            wrong.append(f"{name} {backend} builds tree metadata only for topk > 1, and it is 1")
    page_size = number_setting(evidence, "page_size")
    if page_size is not None and page_size != 1:
        wrong.append(f"page_size {page_size} cannot keep scattered slots")
    if wrong:
        yield ", ".join(wrong)
