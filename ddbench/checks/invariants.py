"""Which rule stands for which known invariant of speculative decoding, 01 to 62.

An invariant that has no rule has the reason. tests/checks/test_invariants.py keeps this complete.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Invariant:
    """`rules`: the codes that check it; empty only with a `reason`."""

    number: int
    says: str
    rules: tuple[str, ...]
    reason: str | None = None


def _inv(number: int, says: str, *rules: str, reason: str | None = None) -> Invariant:
    return Invariant(number, says, rules, reason)


INVARIANTS: tuple[Invariant, ...] = (
    _inv(1, "verify width is budget + 1, or the block size, everywhere", "DDB301"),
    _inv(2, "non-root nodes reach the budget and never exceed it", "DDB119", "DDB148"),
    _inv(3, "same target, drafter, block size and dtypes in all arms", "DDB402"),
    _inv(4, "same overlap, graphs, page size, cache and limits", "DDB203", "DDB305", "DDB402"),
    _inv(5, "a tree runs with page size 1 on a backend that masks", "DDB304", "DDB306"),
    _inv(6, "no simulated acceptance, no stale metadata graph", "DDB110", "DDB302"),
    _inv(7, "no block size mismatch warning", "DDB303"),
    _inv(8, "0 <= d <= min(L, B)", "DDB140"),
    _inv(9, "accepted nodes are a path from the root", "DDB141"),
    _inv(10, "accepted tokens are the target's choices", "DDB142"),
    _inv(11, "the walk is maximal", "DDB143"),
    _inv(12, "the bonus is the target's, and the next root", "DDB144"),
    _inv(13, "commit is d + 1, less only in the last step", "DDB145"),
    _inv(14, "the prefix advances by the commit, and commits sum up", "DDB146", "DDB153"),
    _inv(15, "kept slots are the commit, the others are freed", "DDB128"),
    _inv(16, "the tree is well formed", "DDB147"),
    _inv(17, "the reported tree size counts real nodes", "DDB119"),
    _inv(18, "log weights never rise in insertion order", "DDB149"),
    _inv(19, "node 1 is the drafter's first choice", "DDB150"),
    _inv(20, "topk 1 is a chain", "DDB151"),
    _inv(
        21,
        "spine-first builders accept as much as the line at the same state",
        reason="Holds for spine-first builders only; DDTREE's is best-first, and loses 4-5 % of "
        "single steps by design. It needs the line's depth at the very state of each tree step, "
        "which no run records.",
    ),
    _inv(22, "accepted drafts match what the drafter expects", "DDB152"),
    _inv(23, "tokens = steps + committed drafts (0.5.11)", "DDB120"),
    _inv(24, "steps + drafts exceed tokens by at most D (0.5.23)", "DDB120"),
    _inv(25, "spec_accept_length = tokens / steps", "DDB121"),
    _inv(26, "proposed = steps * (k - 1), rate = drafts / proposed", "DDB121"),
    _inv(27, "rates lie in 0 to 1", "DDB105", "DDB121", "DDB122"),
    _inv(28, "the histogram sums to steps and drafts", "DDB122", "DDB123"),
    _inv(29, "tokens bound the number of steps", "DDB124"),
    _inv(30, "no steps only where the answer ended in prefill", "DDB117", "DDB125"),
    _inv(31, "length means exactly max_new_tokens", "DDB126"),
    _inv(32, "nothing follows the end token", "DDB127"),
    _inv(
        33,
        "API accept length exceeds the mean commit by (1 + retractions)/steps",
        "DDB121",
        reason="An identity of definitions that data cannot break: DDB103 subtracts it and DDB121 "
        "explains it.",
    ),
    _inv(34, "answers do not repeat themselves", "DDB501", "DDB502", "DDB503"),
    _inv(35, "prompt_tokens are equal in all arms", "DDB403"),
    _inv(36, "accept rate follows from accept len", "DDB105", "DDB106"),
    _inv(37, "1 <= accept len <= D + 1", "DDB104"),
    _inv(38, "depth + 1 - commit lies in 0 to F*D/S", "DDB101"),
    _inv(39, "accept len - commit lies in 0 to F*D/S", "DDB102"),
    _inv(40, "windows average to the cumulative figures", "DDB103", "DDB114", "DDB115"),
    _inv(41, "throughput * step time = running * accept len", "DDB201"),
    _inv(42, "client and log see the same throughput", "DDB202"),
    _inv(43, "graphs on in all windows or in none", "DDB203"),
    _inv(44, "the asked concurrency runs, nothing queues or retracts", "DDB204", "DDB205"),
    _inv(45, "tokens are conserved between server and client", "DDB116"),
    _inv(46, "a chain-shaped tree is the line", "DDB404"),
    _inv(47, "greedy speculation gives the greedy text", "DDB405"),
    _inv(48, "a repeat at concurrency 1 is identical", "DDB406"),
    _inv(49, "tokens per step do not fall with the budget", "DDB407"),
    _inv(50, "gains shrink with the budget", "DDB408"),
    _inv(
        51,
        "expected drafts never fall with topk at a fixed budget; accepted ones may",
        reason="Accepted drafts are no fault when they fall. Expected ones are a sum over the "
        "drafter's own tree: DDB149 and DDB152 check the tree they are summed over.",
    ),
    _inv(52, "a tree accepts at least as much as the line", "DDB409"),
    _inv(53, "the survival curve falls, sums to the mean, and starts no lower", "DDB123", "DDB410"),
    _inv(54, "acceptance does not depend on concurrency", "DDB112", "DDB411"),
    _inv(55, "speed = tokens per step / step time", "DDB412"),
    _inv(56, "step time does not fall with the width", "DDB413"),
    _inv(57, "throughput scales at most in proportion", "DDB414"),
    _inv(58, "the autoregressive arm does not draft", "DDB118"),
    _inv(59, "the line reaches its published figure", "DDB129"),
    _inv(60, "a repeated arm does not drift", "DDB415"),
    _inv(61, "enough repeats, no instruments in timed arms", "DDB307", "DDB416"),
    _inv(62, "fresh results of known provenance", "DDB308", "DDB417"),
)
