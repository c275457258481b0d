from collections.abc import Iterator, Sequence

from ddbench.checks.cells import Cell, cells_of, matched
from ddbench.checks.evidence import Comparison
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.rule import rule

SAME_EVERYWHERE = (
    "model_path",
    "dtype",
    "quantization",
    "kv_cache_dtype",
    "disable_overlap_schedule",
    "disable_cuda_graph",
    "disable_radix_cache",
    "page_size",
    "max_running_requests",
    "tp_size",
    "dp_size",
    "chunked_prefill_size",
)
SAME_WITH_DRAFTERS = (
    "speculative_draft_model_path",
    "speculative_draft_window_size",
    "speculative_draft_kv_cache_dtype",
    "speculative_draft_model_quantization",
)
LABELLED = ("attention_backend", "decode_attention_backend")


@rule(
    "DDB402",
    "servers-differ",
    Severity.ERROR,
    remedy="Set these flags alike in both arms, or report the difference as part of the arm.",
    needs=(SEVERAL_RUNS,),
)
def servers_differ(comparison: Comparison) -> Iterator[Outcome]:
    """Arms that are compared differ in more than how they draft.

    ## Why it matters
    CUDA graphs alone were worth 3.8 times in the case that ddbench grew out of, and the tree arm
    had none. A tree patch that switches overlap scheduling off loses what overlap gains, and that
    is then taken for the cost of trees.

    ## How it is computed
    For arms with equal conditions, the servers' resolved arguments must be equal in: target,
    dtypes, overlap, graphs, radix cache, page size, max_running_requests, parallelism, chunk size,
    and, when both have a drafter, it with its window and cache. Whether graphs really ran is taken
    from the windows. A tree arm needs a line of the same block size where there is any line.
    Another attention backend is pointed out without being an error: trees may need one.

    ## Example
    Bad: disable_overlap_schedule False in linear-8 and True in tree-8-31-4.
    Good: equal in both.
    """
    cells = cells_of(comparison)
    seen: set[tuple[str, str, str, str]] = set()
    compared = False
    for a, b in matched(cells):
        key = (a.source, a.arm, b.source, b.arm)
        if key in seen or not (a.runs[0].settings and b.runs[0].settings):
            continue
        seen.add(key)
        compared = True
        if unequal := [*_settings(a, b), *_graphs(a, b)]:
            yield Found(", ".join(unequal), subject=f"{a.arm} and {b.arm}")
        if labels := _unequal(a, b, LABELLED):
            yield Found(
                ", ".join(labels),
                remedy="Measure the faster arm on the slower arm's backend as well.",
                subject=f"{a.arm} and {b.arm}",
                severity=Severity.INFO,
            )
    lines = {cell.speculation.block_size for cell in cells if cell.is_linear}
    for arm, block in {(c.arm, c.speculation.block_size) for c in cells if c.is_tree}:
        if lines and block is not None and block not in lines:
            compared = True
            yield Found(
                f"block size {block}, and the linear arms have {sorted(b for b in lines if b)}",
                remedy="Add a linear arm of the same block size: it drafts with the same masks.",
                subject=arm,
            )
    if not compared:
        yield Lacks("two arms under the same conditions, with their servers' resolved arguments")


def _settings(a: Cell, b: Cell) -> list[str]:
    names: tuple[str, ...] = SAME_EVERYWHERE
    if _has_drafter(a) and _has_drafter(b):
        names += SAME_WITH_DRAFTERS
    return _unequal(a, b, names)


def _has_drafter(cell: Cell) -> bool:
    """NGRAM drafts from the text alone: it has none."""
    path = cell.runs[0].settings.get("speculative_draft_model_path", "None")
    return cell.speculation.algorithm is not None and path != "None"


def _unequal(a: Cell, b: Cell, names: Sequence[str]) -> list[str]:
    mine, theirs = a.runs[0].settings, b.runs[0].settings
    return [
        f"{name} {mine[name]} in {a.arm} and {theirs[name]} in {b.arm}"
        for name in names
        if name in mine and name in theirs and mine[name] != theirs[name]
    ]


def _graphs(a: Cell, b: Cell) -> list[str]:
    mine, theirs = _ran_graphs(a), _ran_graphs(b)
    if mine is None or theirs is None or mine == theirs:
        return []
    with_graphs, without = (a, b) if mine else (b, a)
    return [f"{with_graphs.arm} ran from graphs and {without.arm} did not"]


def _ran_graphs(cell: Cell) -> bool | None:
    flags = {
        w.graph
        for run in cell.runs
        for w in run.windows
        if w.running_requests and w.graph is not None
    }
    return flags.pop() if len(flags) == 1 else None
