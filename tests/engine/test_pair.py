"""What the shipped pair must reach on its held-out questions, measured by slow loops of this file.

The greedy answers come from whole forwards of the target. Drafting is then replayed along them:
greedy verification never changes an answer, so it is enough to see how far each draft agrees.
Tokens per step is sum(completion - 1) / sum(verify steps), the first token being prefill's.
"""

import heapq
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

import pytest
import torch

from ddbench.engine.checkpoint import (
    WEIGHTS,
    load_drafter,
    load_target,
    load_tokenizer,
    model_folder,
)
from ddbench.engine.drafter import Drafter
from ddbench.engine.grammar import DOMAINS, held_out_examples, training_examples
from ddbench.engine.target import Target
from ddbench.engine.train.__main__ import TRAINING_EXAMPLES

PROMPTS_PER_DOMAIN = 48
MAX_NEW_TOKENS = 160
AT_ONCE = 40

Steps = list[int]  # tokens each verify step of one answer appended


@dataclass
class Answer:
    domain: str
    prompt_ids: list[int]
    ids: list[int]
    ended: bool
    text: str
    features: torch.Tensor  # (tokens, F)


def answers_of(target: Target, tokenizer, questions: dict[str, list[str]]) -> list[Answer]:
    """Greedy, one token a forward."""
    asked = [(name, prompt) for name, prompts in questions.items() for prompt in prompts]
    answers = []
    for start in range(0, len(asked), AT_ONCE):
        group = asked[start : start + AT_ONCE]
        prompts = [tokenizer.encode(prompt).ids for _, prompt in group]
        answers += [
            Answer(
                domain,
                prompt,
                ids,
                ids[-1] == target.config.eos_token_id,
                tokenizer.decode(ids),
                features,
            )
            for (domain, _), prompt, (ids, features) in zip(
                group, prompts, greedy(target, prompts), strict=True
            )
        ]
    return answers


def greedy(target: Target, prompts: list[list[int]]) -> list[tuple[list[int], torch.Tensor]]:
    n = len(prompts)
    cache, slots = target.new_cache(n), torch.arange(n)
    sequences = [list(prompt) for prompt in prompts]
    features: list[list[torch.Tensor]] = [[] for _ in prompts]
    done = 0
    lens = torch.zeros(n, dtype=torch.int64)
    open_rows = set(range(n))
    while open_rows:
        # One token a request: the next of its prompt, or its newest.
        ids = torch.tensor(
            [s[min(int(p), len(s) - 1)] for s, p in zip(sequences, lens, strict=True)]
        )
        output = target.forward(
            ids[:, None], lens[:, None], cache=cache, slots=slots, prefix_lens=lens
        )
        for row in sorted(open_rows):
            features[row].append(output.features[row, 0].clone())
            if int(lens[row]) == len(sequences[row]) - 1:
                token = int(output.logits[row, 0].argmax())
                sequences[row].append(token)
                new = len(sequences[row]) - len(prompts[row])
                if token == target.config.eos_token_id or new == MAX_NEW_TOKENS:
                    open_rows.remove(row)
        lens += 1
        done += 1
    return [
        (sequence[len(prompt) :], torch.stack(kept))
        for sequence, prompt, kept in zip(sequences, prompts, features, strict=True)
    ]


def replay(
    drafter: Drafter, answers: list[Answer], agree: Callable[[torch.Tensor, list[int]], int]
) -> list[Steps]:
    """Draft along each answer; agree(log_probs (L, V), the answer's next tokens) -> depth."""
    steps: list[Steps] = [[] for _ in answers]
    for start in range(0, len(answers), AT_ONCE):
        group = answers[start : start + AT_ONCE]
        cache, slots = drafter.new_cache(len(group)), torch.arange(len(group))
        emitted = [1] * len(group)
        known = torch.zeros(len(group), dtype=torch.int64)
        while any(e < len(a.ids) for e, a in zip(emitted, group, strict=True)):
            # Rows before the newest token are context.
            prefix = torch.tensor(
                [len(a.prompt_ids) + e - 1 for e, a in zip(emitted, group, strict=True)]
            )
            counts = prefix - known
            new = torch.zeros(len(group), int(counts.max()), group[0].features.shape[1])
            for row, answer in enumerate(group):
                fresh = answer.features[known[row] : prefix[row]]
                new[row, : len(fresh)] = fresh
            drafter.append_context(new, cache=cache, slots=slots, starts=known, counts=counts)
            known = prefix
            roots = torch.tensor([a.ids[e - 1] for e, a in zip(emitted, group, strict=True)])
            log_probs = drafter.draft(roots, prefix, cache=cache, slots=slots)
            for row, answer in enumerate(group):
                rest = answer.ids[emitted[row] :]
                if rest:
                    commit = min(agree(log_probs[row], rest) + 1, len(rest))
                    steps[start + row].append(commit)
                    emitted[row] += commit
    return steps


def linear(log_probs: torch.Tensor, rest: list[int]) -> int:
    return agreeing(log_probs.argmax(-1).tolist(), rest)


def agreeing(drafts: list[int], rest: list[int]) -> int:
    depth = 0
    while depth < min(len(drafts), len(rest)) and drafts[depth] == rest[depth]:
        depth += 1
    return depth


def best_first(budget: int, topk: int) -> Callable[[torch.Tensor, list[int]], int]:
    """The `budget` most probable paths of at most topk choices a depth, found by a plain heap."""

    def agree(log_probs: torch.Tensor, rest: list[int]) -> int:
        values, tokens = (x.tolist() for x in log_probs.topk(topk, dim=-1))
        heap = [(-values[0][rank], (tokens[0][rank],)) for rank in range(topk)]
        heapq.heapify(heap)
        nodes = set()
        while heap and len(nodes) < budget:
            cost, path = heapq.heappop(heap)
            nodes.add(path)
            if (depth := len(path)) < len(values):
                for rank in range(topk):
                    child = (cost - values[depth][rank], (*path, tokens[depth][rank]))
                    heapq.heappush(heap, child)
        depth = 0
        while depth < len(rest) and tuple(rest[: depth + 1]) in nodes:
            depth += 1
        return depth

    return agree


def prompt_lookup(answer: Answer, drafted: int = 7) -> Steps:
    """n-gram drafting: what followed the latest earlier place of the longest matching suffix."""
    steps, emitted = [], 1
    while emitted < len(answer.ids):
        seen = answer.prompt_ids + answer.ids[:emitted]
        drafts: list[int] = []
        longest = 0
        for end in range(len(seen) - 1, 0, -1):  # a match ends before position `end`
            size = 0
            while size < end and seen[end - 1 - size] == seen[-1 - size]:
                size += 1
            if size > longest:
                longest, drafts = size, seen[end : end + drafted]
        rest = answer.ids[emitted:]
        commit = min(agreeing(drafts, rest) + 1, len(rest))
        steps.append(commit)
        emitted += commit
    return steps


def tokens_per_step(steps: list[Steps]) -> float:
    return sum(map(sum, steps)) / sum(map(len, steps))


def by_domain(answers: list[Answer], steps: list[Steps]) -> dict[str, float]:
    return {
        name: tokens_per_step([s for a, s in zip(answers, steps, strict=True) if a.domain == name])
        for name in sorted(DOMAINS)
    }


def repeated_4_gram_share(ids: list[int]) -> float:
    grams = [tuple(ids[i : i + 4]) for i in range(len(ids) - 3)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def shipped_questions() -> dict[str, list[str]]:
    folder = files("ddbench.load") / "builtin"
    return {
        name: [
            json.loads(line)["prompt"]
            for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        for name in sorted(DOMAINS)
    }


@pytest.fixture(scope="module")
def target():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield load_target(model_folder("builtin"))
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def drafter(target):
    return load_drafter(model_folder("builtin", "drafter"), target)


@pytest.fixture(scope="module")
def answers(drafter):  # it has told its target which features to give
    questions = {name: asked[:PROMPTS_PER_DOMAIN] for name, asked in shipped_questions().items()}
    return answers_of(drafter.target, load_tokenizer(model_folder("builtin")), questions)


@pytest.fixture(scope="module")
def linear_steps(drafter, answers):
    return replay(drafter, answers, linear)


def test_linear_drafts_give_2_5_to_5_tokens_a_step(linear_steps):
    assert 2.5 <= tokens_per_step(linear_steps) <= 5.0


def test_a_tree_gives_at_least_a_tenth_more_than_linear(drafter, answers, linear_steps):
    tree = replay(drafter, answers, best_first(budget=31, topk=4))

    assert tokens_per_step(tree) >= 1.10 * tokens_per_step(linear_steps)


def test_the_undertrained_drafter_stays_below_2_tokens_a_step(target, answers):
    undertrained = load_drafter(model_folder("builtin:undertrained", "drafter"), target)

    assert tokens_per_step(replay(undertrained, answers, linear)) < 2.0


def test_the_easiest_and_the_hardest_domain_are_far_apart(answers, linear_steps):
    domains = by_domain(answers, linear_steps)

    assert max(domains.values()) >= 1.5 * min(domains.values())


def test_looking_up_the_prompt_drafts_a_quarter_less_than_linear(answers, linear_steps):
    lookups = [prompt_lookup(answer) for answer in answers]

    assert tokens_per_step(lookups) <= 0.75 * tokens_per_step(linear_steps)


def test_answers_end_by_themselves_and_do_not_go_in_circles(answers):
    ended = sum(answer.ended for answer in answers)

    assert ended >= 0.95 * len(answers)
    assert all(repeated_4_gram_share(answer.ids) < 0.5 for answer in answers)


def test_answers_end_within_the_64_tokens_of_the_quickstart(answers):
    assert sum(answer.ended and len(answer.ids) <= 64 for answer in answers) >= 0.95 * len(answers)


def test_no_answer_stands_in_the_training_text(answers):
    text = "\n".join(e.prompt + e.answer for e in training_examples(0, TRAINING_EXAMPLES))

    assert not [answer.text for answer in answers if answer.text in text]


def test_shipped_questions_are_held_out_and_distinct():
    shipped = shipped_questions()

    for name, prompts in shipped.items():
        assert len(set(prompts)) == len(prompts) == 96
        assert set(prompts) <= {example.prompt for example in held_out_examples(name)}


def test_all_shipped_weights_take_less_than_12_mb():
    sizes = [path.stat().st_size for path in WEIGHTS.rglob("*") if path.is_file()]

    assert 0 < sum(sizes) <= 12_000_000
