"""Single checks: two lists of answers against each other, and what one must hold by itself."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ddbench.conformance.differential import output_ids, output_logprobs
from ddbench.conformance.reference import Answers, RunnerUp
from ddbench.records import DecodeWindow, RequestCompleted

PRINTED = 0.01 + 1e-9  # two averages, printed with two decimals each


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where two answers to one prompt first differ, in the token or by more than the tolerance."""

    prompt_id: str
    position: int
    expected: tuple[int, float] | None  # token, log-probability; None: the answer had ended
    actual: tuple[int, float] | None

    def __str__(self) -> str:
        said = f"prompt {self.prompt_id}, output token {self.position}"
        return f"{said}: expected {_shown(self.expected)}, got {_shown(self.actual)}"


@dataclass(frozen=True, slots=True)
class Check:
    case: str
    what: str
    passed: bool
    detail: str
    divergence: Divergence | None = None


@dataclass(frozen=True, slots=True)
class SameText:
    """ties: prompts that part where two tokens are as likely, after which nothing is compared."""

    check: Check
    ties: frozenset[str]


def same_text(
    case: str,
    what: str,
    expected: Answers,
    actual: Answers,
    *,
    runners_up: Mapping[str, Sequence[RunnerUp]],
    tolerance: float,
) -> SameText:
    """Same tokens, and log-probabilities within `tolerance`, up to a tie.

    A tie is a parting at which the reference's two best tokens are within two tolerances of each
    other and the other answer took the second one: then both are right.
    """
    ties: set[str] = set()
    first: Divergence | None = None
    most = 0.0
    wrong = 0
    for mine, theirs in zip(expected, actual, strict=True):
        found = _diverge(mine, theirs, tolerance)
        most = max(most, _most_apart(mine, theirs))
        if found is None:
            continue
        if _is_tie(found, runners_up, tolerance):
            ties.add(mine.prompt_id)
            continue
        wrong += 1
        first = first or found
    detail = f"{len(expected)} requests, log-probabilities apart by at most {most:.1e}"
    if ties:
        detail += f", {len(ties)} parted at a tie"
    if wrong:
        detail += f", {wrong} differ"
    return SameText(Check(case, what, first is None, detail, first), frozenset(ties))


def same_steps(
    case: str, what: str, expected: Answers, actual: Answers, *, besides: Collection[str] = ()
) -> Check:
    """Same verify_ct and histogram for every request; `besides`: those that parted at a tie."""
    wrong: list[str] = []
    compared = 0
    for mine, theirs in zip(expected, actual, strict=True):
        if mine.prompt_id in besides:
            continue
        compared += 1
        for name, a, b in (
            ("verify_ct", mine.verify_ct, theirs.verify_ct),
            ("histogram", mine.histogram, theirs.histogram),
        ):
            if a != b and not (name == "histogram" and (a is None or b is None)):
                wrong.append(f"prompt {mine.prompt_id}: {name} {b}, expected {a}")
                break
    steps = sum(answer.verify_ct or 0 for answer in actual)
    detail = f"{compared} requests, {steps} verify steps"
    if wrong:
        detail += f"; {len(wrong)} differ, first {wrong[0]}"
    return Check(case, what, not wrong and compared > 0, detail)


def identities(case: str, what: str, answers: Answers, *, depth: int) -> Check:
    """What one answer's counters must hold among themselves; `depth`: drafts of one step."""
    wrong = [f"prompt {a.prompt_id}: {said}" for a in answers for said in _broken(a, depth)]
    cut = sum(_emitted(a) - a.completion_tokens for a in answers)
    detail = f"{len(answers)} requests, {cut} accepted tokens cut at an end"
    if wrong:
        detail += f"; {len(wrong)} broken, first {wrong[0]}"
    return Check(case, what, not wrong, detail)


def depth_identity(
    case: str, windows: Sequence[DecodeWindow], *, requests: int, depth: int, budget: int
) -> Check:
    """In the log, one window a step: commit len == accepted depth + 1, but where a request ended.

    A step at which requests end may commit less. No request ends twice, so there are at most
    `requests` of these.
    """
    what = "commit len == accepted depth + 1, in the log's windows"
    seen = [w for w in windows if w.accepted_depth is not None or w.commit_len is not None]
    if not seen:
        return Check(case, what, False, "the log has no accepted depth and no commit len")
    wrong: list[str] = []
    cut = 0
    for window in seen:
        if window.accepted_depth is None or window.commit_len is None:
            wrong.append("a window has only one of the two")
            continue
        excess = window.accepted_depth + 1 - window.commit_len
        said = f"accepted depth {window.accepted_depth}, commit len {window.commit_len}"
        cut += excess > PRINTED
        if not -PRINTED <= excess <= depth + PRINTED or window.accepted_depth > depth + PRINTED:
            wrong.append(said)
        elif window.tree_nodes is not None and abs(window.tree_nodes - budget) > PRINTED:
            wrong.append(f"tree nodes {window.tree_nodes}, budget {budget}")
    if cut > requests:
        wrong.append(f"{cut} windows commit less than accepted, and only {requests} requests ended")
    detail = f"{len(seen)} windows, {cut} with a cut"
    if wrong:
        detail += f"; {len(wrong)} broken, first {wrong[0]}"
    return Check(case, what, not wrong, detail)


def _broken(answer: RequestCompleted, depth: int) -> Iterator[str]:
    if answer.completion_tokens == 1:  # the prefill's own
        return
    if answer.verify_ct is None or answer.correct_drafts is None:
        yield "no verify steps are reported"
        return
    if answer.histogram is not None:
        if sum(answer.histogram) != answer.verify_ct:
            yield f"histogram {answer.histogram} sums to other than {answer.verify_ct} steps"
        if sum(d * n for d, n in enumerate(answer.histogram)) != answer.correct_drafts:
            yield f"histogram {answer.histogram} holds other than {answer.correct_drafts} drafts"
        if any(answer.histogram[depth + 1 :]):
            yield f"histogram {answer.histogram} has steps deeper than {depth}"
    cut = _emitted(answer) - answer.completion_tokens
    if not answer.retractions and not 0 <= cut <= depth:
        yield (
            f"{answer.completion_tokens} tokens from {answer.verify_ct} steps with "
            f"{answer.correct_drafts} drafts"
        )
    kept = answer.completion_tokens - 1 - answer.verify_ct
    if not answer.retractions and answer.committed_drafts not in (None, kept):
        yield f"{answer.committed_drafts} committed drafts, and {kept} of the tokens are drafts"


def _emitted(answer: RequestCompleted) -> int:
    """Before any cut: one token of the prefill; in each step its correct drafts and a bonus."""
    return 1 + (answer.correct_drafts or 0) + (answer.verify_ct or 0)


def _diverge(
    mine: RequestCompleted, theirs: RequestCompleted, tolerance: float
) -> Divergence | None:
    expected = list(zip(output_ids(mine), output_logprobs(mine), strict=True))
    actual = list(zip(output_ids(theirs), output_logprobs(theirs), strict=True))
    for position in range(max(len(expected), len(actual))):
        a = expected[position] if position < len(expected) else None
        b = actual[position] if position < len(actual) else None
        if a is None or b is None or a[0] != b[0] or not abs(a[1] - b[1]) <= tolerance:
            return Divergence(mine.prompt_id, position, a, b)
    return None


def _most_apart(mine: RequestCompleted, theirs: RequestCompleted) -> float:
    """Of the log-probabilities of tokens that both wrote after the same text."""
    most = 0.0
    both = zip(output_ids(mine), output_ids(theirs), strict=False)
    pairs = zip(output_logprobs(mine), output_logprobs(theirs), strict=False)
    for (a, b), (p, q) in zip(both, pairs, strict=False):
        if a != b:
            break
        most = max(most, abs(p - q))
    return most


def _is_tie(
    found: Divergence, runners_up: Mapping[str, Sequence[RunnerUp]], tolerance: float
) -> bool:
    if found.expected is None or found.actual is None or found.expected[0] == found.actual[0]:
        return False
    known = runners_up.get(found.prompt_id, ())
    if found.position >= len(known):
        return False
    second = known[found.position]
    return second.token == found.actual[0] and second.behind <= 2 * tolerance


def _shown(said: tuple[int, float] | None) -> str:
    return "the end" if said is None else f"token {said[0]} ({said[1]:.5f})"
