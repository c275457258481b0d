"""Faults that can be planted on purpose, so that a check can be shown to see them.

`--fault NAME[:DOSE]` (not shown by --help) plants one. A healthy server has none, and says in
/server_info which one it has. The dose is the share of occasions (steps, requests or lines, by
fault) on which it strikes, evenly spread; 1 when it is not given.

What each does is written at its class in ddbench/engine/planted/; the measured effect on the rules
of `ddbench check` stands in ddbench/checks/README.md. This file knows names alone, so that the
command line can be read without loading a model.
"""

from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    # what is drafted
    WEIGHTS_DROPPED = "weights-dropped"
    DRAFT_SHIFTED = "draft-shifted"
    DRAFT_CACHE_COARSE = "draft-cache-coarse"
    DRAFT_DECAYS = "draft-decays"
    WRONG_BLOCK_SIZE = "wrong-block-size"
    SHARD_NORMALISED = "shard-normalised"
    BUDGET_COUNTS_ROOT = "budget-counts-root"
    DEPTH_BONUS = "depth-bonus"
    FIRST_NODES_SWAPPED = "first-nodes-swapped"
    BEST_CHILD_LOST = "best-child-lost"
    CHAIN_BRANCHES = "chain-branches"
    RANKS_SHUFFLED = "ranks-shuffled"
    # how it is verified
    MASK_DROPPED = "mask-dropped"
    MASKLESS_BACKEND = "maskless-backend"
    KV_NOT_MOVED = "kv-not-moved"
    SLOT_ALIASED = "slot-aliased"
    WRONG_ROW = "wrong-row"
    STALE_BUFFER = "stale-buffer"
    WALK_OVER_PADDING = "walk-over-padding"
    WALK_STOPS_EARLY = "walk-stops-early"
    PATH_OFF_BY_ONE = "path-off-by-one"
    NEAR_MISS_ACCEPTED = "near-miss-accepted"
    BONUS_FROM_PADDING = "bonus-from-padding"
    SIMULATED_ACCEPTANCE = "simulated-acceptance"
    SPECULATION_OFF = "speculation-off"
    SPECULATION_OFF_FOR_SOME = "speculation-off-for-some"
    BASELINE_DRAFTS = "baseline-drafts"
    SAMPLING_IGNORED = "sampling-ignored"
    # what is committed
    CONTIGUOUS_PREFIX = "contiguous-prefix"
    BONUS_LOST = "bonus-lost"
    EOS_NOT_CUT = "eos-not-cut"
    LENGTH_NOT_CUT = "length-not-cut"
    # what is written
    PROMPT_PREFIXED = "prompt-prefixed"
    REPETITION_LOOP = "repetition-loop"
    ONE_TOKEN = "one-token"
    TEXT_GARBLED = "text-garbled"
    REQUESTS_ABORTED = "requests-aborted"
    # what is counted
    DEPTH_COUNTS_ROOT = "depth-counts-root"
    COMMIT_LACKS_BONUS = "commit-lacks-bonus"
    ACCEPT_LEN_LACKS_BONUS = "accept-len-lacks-bonus"
    RATE_COUNTS_BONUS = "rate-counts-bonus"
    RATE_OF_OTHER_WIDTH = "rate-of-other-width"
    NODES_COUNT_ROOT = "nodes-count-root"
    STEP_COUNTED_TWICE = "step-counted-twice"
    STEPS_COUNT_TOKENS = "steps-count-tokens"
    HISTOGRAM_SHIFTED = "histogram-shifted"
    STATED_RATIO_PARTIAL = "stated-ratio-partial"
    VERIFY_COUNTER_DOUBLED = "verify-counter-doubled"
    TOKEN_COUNTER_UNCUT = "token-counter-uncut"
    FLUSH_KEEPS_TOKENS = "flush-keeps-tokens"
    NODE_DEPTHS_COUNT_ROOT = "node-depths-count-root"
    VERSION_WITHHELD = "version-withheld"
    # how it runs
    GRAPH_FLAG_OFF = "graph-flag-off"
    RUNNING_LIMIT_LOWERED = "running-limit-lowered"
    SLOTS_LEAK = "slots-leak"
    PAUSES_HIDDEN = "pauses-hidden"
    STEPS_STALL = "steps-stall"
    SLOW_ALONE = "slow-alone"


@dataclass(frozen=True, slots=True)
class PlantedFault:
    fault: Fault
    dose: float = 1.0

    def __str__(self) -> str:
        return self.fault if self.dose == 1.0 else f"{self.fault}:{self.dose:g}"


def planted_fault(text: str) -> PlantedFault:
    """NAME or NAME:DOSE, a dose in (0, 1]. Raises ValueError, whose message names the text."""
    name, _, dose = text.partition(":")
    if name not in set(Fault):
        raise ValueError(f"invalid choice: {name!r} is no fault")
    share = 1.0 if not dose else float(dose)
    if not 0.0 < share <= 1.0:
        raise ValueError(f"invalid dose: {dose!r} is not a share above 0")
    return PlantedFault(Fault(name), share)
