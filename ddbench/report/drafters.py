"""Every drafter that a run recorded: how good it is, and whether a tree helped."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ddbench.compare.arms import ComparedArm, arms_of, linear_arm
from ddbench.compare.drafter import Speed, TreeVerdict
from ddbench.compare.gate import require_comparable, trouble_at
from ddbench.compare.pairing import (
    shared_concurrencies,
    throughput_ratio,
    tokens_per_step_ratio,
)
from ddbench.compare.verdicts import TEST_CONFIDENCE, verdict
from ddbench.errors import DdbenchError, NotComparable
from ddbench.predict.drafter import DrafterFacts, drafter_facts, predicted_gain
from ddbench.predict.recorded import RecordedArm, recorded_arm
from ddbench.records import Launch, RunResult

UNMEASURED = ((15, 4), (31, 4))
"""Budget and topk of the trees that are predicted where the run measured none."""


@dataclass(frozen=True, slots=True)
class DrafterReport:
    """facts: None where the recording could not be used; notes say why, and what was left out.

    trees: the largest first, whose outcome is the drafter's.
    """

    run: str
    arm: str
    facts: DrafterFacts | None
    trees: tuple[TreeVerdict, ...]
    notes: tuple[str, ...]

    @property
    def headline(self) -> TreeVerdict | None:
        """Of the largest tree: chosen before looking, so that it is not the luckiest of several."""
        return self.trees[0] if self.trees else None


def drafter_reports(
    folder: Path, launches: Sequence[Launch], results: Sequence[RunResult]
) -> list[DrafterReport]:
    """One entry a recording arm, in the order they ran; empty where nothing was recorded."""
    arms = arms_of(str(folder), launches, results)
    probes = [r.trial.arm for r in results if r.trial.server.record_drafts]
    return [_report(folder, launches, results, arms, name) for name in dict.fromkeys(probes)]


def _report(
    folder: Path,
    launches: Sequence[Launch],
    results: Sequence[RunResult],
    arms: Sequence[ComparedArm],
    name: str,
) -> DrafterReport:
    try:
        recorded = recorded_arm(folder, launches, results, arm=name)
    except DdbenchError as error:  # one torn recording must not take the comparison with it
        return DrafterReport(str(folder), name, None, (), (f"{error} {error.remedy}",))
    greedy = all(r.trial.load.temperature == 0.0 for r in results if r.trial.arm == name)
    notes = list(recorded.notes)
    trees = [arm for arm in arms if arm.is_tree and recorded.speaks_for(arm.server)]
    trees.sort(key=lambda arm: (arm.speculation.budget or 0, arm.speculation.topk or 0))
    found = []
    for tree in reversed(trees):
        try:
            found.append(_of_tree(recorded, arms, tree, greedy=greedy))
        except NotComparable as error:
            notes.append(f"{tree.name} was left out: {'; '.join(str(error).splitlines())}")
    if not trees:
        found = [_promise(recorded, budget, topk) for budget, topk in reversed(UNMEASURED)]
    return DrafterReport(str(folder), name, drafter_facts(recorded), tuple(found), tuple(notes))


def _of_tree(
    recorded: RecordedArm, arms: Sequence[ComparedArm], tree: ComparedArm, *, greedy: bool
) -> TreeVerdict:
    lines = [arm for arm in arms if arm.is_linear and recorded.speaks_for(arm.server)]
    line = linear_arm(lines, None, beside=tree)
    require_comparable(line, tree)
    shared = shared_concurrencies(line, tree)
    pooled = [[t for c in shared for t in arm.at(c)] for arm in (line, tree)]
    budget, topk = tree.speculation.budget or 1, tree.speculation.topk or 1
    gain = predicted_gain(recorded, budget=budget, topk=topk)
    return TreeVerdict(
        drafter=recorded.server.draft_model or recorded.arm,
        tree=tree.name,
        linear=line.name,
        predicted=gain.ratio,
        ceiling=gain.ceiling,
        measured=tokens_per_step_ratio(*pooled),
        speeds=tuple(_speed(line, tree, c) for c in shared),
        greedy=greedy,
    )


def _speed(line: ComparedArm, tree: ComparedArm, concurrency: int) -> Speed:
    """No ratio where a trial cannot stand for its arm; what it accepted counts all the same."""
    mine, theirs = line.at(concurrency), tree.at(concurrency)
    if trouble_at(concurrency, mine) or trouble_at(concurrency, theirs):
        return Speed(concurrency, None, "not measured")
    ratio = throughput_ratio(mine, theirs)
    narrow = throughput_ratio(mine, theirs, confidence=TEST_CONFIDENCE)
    return Speed(concurrency, ratio, verdict(ratio, narrow=narrow))


def _promise(recorded: RecordedArm, budget: int, topk: int) -> TreeVerdict:
    """Of a tree that was not run."""
    gain = predicted_gain(recorded, budget=budget, topk=topk)
    return TreeVerdict(
        drafter=recorded.server.draft_model or recorded.arm,
        tree=f"tree-{recorded.depth + 1}-{budget}-{topk}",
        linear=f"linear-{recorded.depth + 1}",
        predicted=gain.ratio,
        ceiling=gain.ceiling,
        measured=None,
        speeds=(),
        greedy=True,
    )
