"""What the server runs with: the command line, completed from the model's own configuration."""

from dataclasses import dataclass

from ddbench.engine.arguments import Algorithm, EngineArguments
from ddbench.engine.drafter import DrafterConfig
from ddbench.engine.target import TargetConfig
from ddbench.errors import EngineError

DEFAULT_RUNNING_REQUESTS = 16
DEFAULT_TOPK = 4


@dataclass(frozen=True, slots=True)
class DraftSettings:
    """block_size counts the root. budget and topk: a tree's; None where drafts are linear."""

    algorithm: Algorithm
    block_size: int
    budget: int | None
    topk: int | None

    @property
    def verify_width(self) -> int:
        """Tokens of one request in one target forward, root included."""
        return self.block_size if self.budget is None else self.budget + 1


@dataclass(frozen=True, slots=True)
class EngineSettings:
    context_length: int  # tokens of prompt and answer together
    max_total_tokens: int  # the same, over all running requests
    max_running_requests: int
    chunked_prefill_size: int
    decode_log_interval: int
    random_seed: int
    draft: DraftSettings | None

    @property
    def verify_width(self) -> int:
        return 1 if self.draft is None else self.draft.verify_width


def resolve_settings(
    arguments: EngineArguments, target: TargetConfig, drafter: DrafterConfig | None
) -> EngineSettings:
    """Raises EngineError for settings that these weights cannot run with."""
    draft = None if drafter is None else _draft_settings(arguments, drafter)
    # A block reaches this far past the last token that a request may have.
    reach = 0 if drafter is None else drafter.block_size
    most = target.max_positions
    if drafter is not None:
        most = min(most, drafter.max_positions)
    most -= reach
    context_length = arguments.context_length or most
    if context_length > most:
        raise EngineError(
            f"--context-length {context_length} is more than the {most} tokens that the model has "
            "positions for",
            remedy=f"Give at most {most}.",
        )
    running = arguments.max_running_requests or DEFAULT_RUNNING_REQUESTS
    return EngineSettings(
        context_length=context_length,
        max_total_tokens=arguments.max_total_tokens or running * context_length,
        max_running_requests=running,
        chunked_prefill_size=arguments.chunked_prefill_size,
        decode_log_interval=arguments.decode_log_interval,
        random_seed=arguments.random_seed,
        draft=draft,
    )


def _draft_settings(arguments: EngineArguments, drafter: DrafterConfig) -> DraftSettings:
    assert arguments.algorithm is not None
    trained = drafter.block_size
    block_size = arguments.dflash_block_size
    width = arguments.num_draft_tokens
    if arguments.algorithm == "DFLASH":
        if block_size is not None and width is not None and block_size != width:
            raise EngineError(
                f"--speculative-num-draft-tokens {width} and --speculative-dflash-block-size "
                f"{block_size} differ",
                remedy="Give one of them: for DFLASH both name the block size.",
            )
        block_size = block_size or width or trained
    _require_block_size(block_size or trained, trained)
    if arguments.algorithm == "DFLASH":
        return DraftSettings("DFLASH", trained, None, None)

    depth = trained - 1
    topk = arguments.ddtree_topk or DEFAULT_TOPK
    budget = arguments.ddtree_budget or depth
    fills = largest_tree(topk, depth)
    if budget > fills:
        raise EngineError(
            f"a tree of {budget} nodes cannot be filled with topk {topk} at block size {trained}",
            remedy=f"Give a budget of at most {fills}, or a larger topk.",
        )
    if topk > drafter.vocab_size:
        raise EngineError(
            f"topk {topk} is more than the {drafter.vocab_size} tokens there are",
            remedy="Give a smaller topk.",
        )
    if width not in (None, budget + 1):
        raise EngineError(
            f"--speculative-num-draft-tokens {width} is not the verify width of a tree of {budget} "
            "nodes",
            remedy=f"Leave it out, or give {budget + 1}: the nodes and the root.",
        )
    return DraftSettings("DDTREE", trained, budget, topk)


def _require_block_size(block_size: int, trained: int) -> None:
    if block_size != trained:
        raise EngineError(
            f"block size {block_size} was asked for, and the drafter was trained on {trained}",
            remedy=f"Give {trained}, or a drafter that was trained on {block_size}.",
        )


def largest_tree(topk: int, depth: int) -> int:
    """Nodes below the root of a tree with `topk` children everywhere, `depth` levels deep."""
    return sum(topk**level for level in range(1, depth + 1))
