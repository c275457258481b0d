"""Every fault by its name."""

from ddbench.engine.faults import Fault, PlantedFault
from ddbench.engine.planted import counting, drafts, running, verification, writing
from ddbench.engine.planted.seams import Seams

_FAULTS: dict[Fault, type[Seams]] = {
    Fault.WEIGHTS_DROPPED: drafts.WeightsDropped,
    Fault.DRAFT_SHIFTED: drafts.DraftShifted,
    Fault.DRAFT_CACHE_COARSE: drafts.DraftCacheCoarse,
    Fault.DRAFT_DECAYS: drafts.DraftDecays,
    Fault.WRONG_BLOCK_SIZE: drafts.WrongBlockSize,
    Fault.SHARD_NORMALISED: drafts.ShardNormalised,
    Fault.BUDGET_COUNTS_ROOT: drafts.BudgetCountsRoot,
    Fault.DEPTH_BONUS: drafts.DepthBonus,
    Fault.FIRST_NODES_SWAPPED: drafts.FirstNodesSwapped,
    Fault.BEST_CHILD_LOST: drafts.BestChildLost,
    Fault.CHAIN_BRANCHES: drafts.ChainBranches,
    Fault.RANKS_SHUFFLED: drafts.RanksShuffled,
    Fault.MASK_DROPPED: verification.MaskDropped,
    Fault.MASKLESS_BACKEND: verification.MasklessBackend,
    Fault.KV_NOT_MOVED: verification.KvNotMoved,
    Fault.SLOT_ALIASED: verification.SlotAliased,
    Fault.WRONG_ROW: verification.WrongRow,
    Fault.STALE_BUFFER: verification.StaleBuffer,
    Fault.WALK_OVER_PADDING: verification.WalkOverPadding,
    Fault.WALK_STOPS_EARLY: verification.WalkStopsEarly,
    Fault.PATH_OFF_BY_ONE: verification.PathOffByOne,
    Fault.NEAR_MISS_ACCEPTED: verification.NearMissAccepted,
    Fault.BONUS_FROM_PADDING: verification.BonusFromPadding,
    Fault.SIMULATED_ACCEPTANCE: verification.SimulatedAcceptance,
    Fault.SPECULATION_OFF: verification.SpeculationOff,
    Fault.SPECULATION_OFF_FOR_SOME: verification.SpeculationOffForSome,
    Fault.BASELINE_DRAFTS: verification.BaselineDrafts,
    Fault.SAMPLING_IGNORED: verification.SamplingIgnored,
    Fault.CONTIGUOUS_PREFIX: writing.ContiguousPrefix,
    Fault.BONUS_LOST: writing.BonusLost,
    Fault.EOS_NOT_CUT: writing.EosNotCut,
    Fault.LENGTH_NOT_CUT: writing.LengthNotCut,
    Fault.PROMPT_PREFIXED: writing.PromptPrefixed,
    Fault.REPETITION_LOOP: writing.RepetitionLoop,
    Fault.ONE_TOKEN: writing.OneToken,
    Fault.TEXT_GARBLED: writing.TextGarbled,
    Fault.REQUESTS_ABORTED: writing.RequestsAborted,
    Fault.DEPTH_COUNTS_ROOT: counting.DepthCountsRoot,
    Fault.COMMIT_LACKS_BONUS: counting.CommitLacksBonus,
    Fault.ACCEPT_LEN_LACKS_BONUS: counting.AcceptLenLacksBonus,
    Fault.RATE_COUNTS_BONUS: counting.RateCountsBonus,
    Fault.RATE_OF_OTHER_WIDTH: counting.RateOfOtherWidth,
    Fault.NODES_COUNT_ROOT: counting.NodesCountRoot,
    Fault.STEP_COUNTED_TWICE: counting.StepCountedTwice,
    Fault.STEPS_COUNT_TOKENS: counting.StepsCountTokens,
    Fault.HISTOGRAM_SHIFTED: counting.HistogramShifted,
    Fault.STATED_RATIO_PARTIAL: counting.StatedRatioPartial,
    Fault.VERIFY_COUNTER_DOUBLED: counting.VerifyCounterDoubled,
    Fault.TOKEN_COUNTER_UNCUT: counting.TokenCounterUncut,
    Fault.FLUSH_KEEPS_TOKENS: counting.FlushKeepsTokens,
    Fault.NODE_DEPTHS_COUNT_ROOT: counting.NodeDepthsCountRoot,
    Fault.VERSION_WITHHELD: counting.VersionWithheld,
    Fault.GRAPH_FLAG_OFF: running.GraphFlagOff,
    Fault.RUNNING_LIMIT_LOWERED: running.RunningLimitLowered,
    Fault.SLOTS_LEAK: running.SlotsLeak,
    Fault.PAUSES_HIDDEN: running.PausesHidden,
    Fault.STEPS_STALL: running.StepsStall,
    Fault.SLOW_ALONE: running.SlowAlone,
}


def planted(fault: PlantedFault | None) -> Seams:
    """The seams of a server with this fault; those of a healthy one for None."""
    return Seams() if fault is None else _FAULTS[fault.fault](fault.dose)


def effect_of(fault: Fault) -> str:
    """What the fault does, in a sentence."""
    return (_FAULTS[fault].__doc__ or "").replace("\n", " ")
