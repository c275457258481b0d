import json
import os
import re
import subprocess
import sys

import pytest
import torch

from ddbench.engine.checkpoint import load_drafter, load_target
from ddbench.engine.drafter import Drafter, DrafterConfig
from ddbench.engine.grammar import DOMAINS, held_out_examples, training_examples
from ddbench.engine.qwen3_layer import LayerShape, random_tensors
from ddbench.engine.target import Target, TargetConfig
from ddbench.engine.train.documents import Document, collate, tokenize
from ddbench.engine.train.layers import drafter_hidden, head_weight, target_hidden
from ddbench.engine.train.questions import smallest_gaps
from ddbench.engine.train.rollouts import greedy_answers
from ddbench.engine.train.tokenizer import END_OF_TEXT_ID, MASK_ID, train_tokenizer

SHAPE = LayerShape(32, 48, 4, 2, 8, 1e-6)
TARGET = TargetConfig(60, 3, SHAPE, 10_000.0, 128, eos_token_id=0)
DRAFTER = DrafterConfig(60, 2, SHAPE, 10_000.0, 128, 6, 1, (0, 1), 3)


def large(shapes, seed):
    return {n: w * 8 if w.dim() > 1 else w for n, w in random_tensors(shapes, seed).items()}


TARGET_WEIGHTS, DRAFTER_WEIGHTS = large(TARGET.tensors(), 0), large(DRAFTER.tensors(), 1)


def prefill(target, ids):
    n, length = ids.shape
    return target.forward(
        ids,
        torch.arange(length).expand(n, -1),
        cache=target.new_cache(n),
        slots=torch.arange(n),
        prefix_lens=torch.zeros(n, dtype=torch.int64),
    )


def test_training_computes_what_the_engine_computes():
    ids = torch.randint(60, (3, 20), generator=torch.Generator().manual_seed(0))
    target = Target(TARGET, TARGET_WEIGHTS)
    drafter = Drafter(target, DRAFTER, DRAFTER_WEIGHTS)
    engine = prefill(target, ids)
    anchors = torch.tensor([[1, 9, 15], [4, 4, 19], [10, 11, 12]])

    hidden, features = target_hidden(TARGET_WEIGHTS, TARGET, ids, (0, 1))
    head = head_weight(TARGET_WEIGHTS, TARGET)
    masks = drafter_hidden(
        DRAFTER_WEIGHTS,
        DRAFTER,
        TARGET_WEIGHTS["model.embed_tokens.weight"],
        features,
        ids.gather(1, anchors),
        anchors,
    )

    assert torch.allclose(hidden @ head.T, engine.logits, atol=1e-4)
    assert torch.allclose(features, engine.features, atol=1e-4)
    for column in range(3):
        cache = drafter.new_cache(3)
        drafter.append_context(
            engine.features,
            cache=cache,
            slots=torch.arange(3),
            starts=torch.zeros(3, dtype=torch.int64),
            counts=anchors[:, column],
        )
        roots = ids.gather(1, anchors[:, column : column + 1])[:, 0]
        log_probs = drafter.draft(roots, anchors[:, column], cache=cache, slots=torch.arange(3))
        trained = (masks[:, column] @ head.T).log_softmax(-1)
        assert torch.allclose(trained, log_probs, atol=1e-3)


def test_rollouts_are_the_targets_greedy_continuation():
    target = Target(TARGET, TARGET_WEIGHTS)
    generator = torch.Generator().manual_seed(1)
    prompts = [
        Document(tuple(torch.randint(1, 60, (size,), generator=generator).tolist()), size)
        for size in (3, 9, 5)
    ]

    answered = greedy_answers(target, prompts, max_new_tokens=12, at_once=2)

    for prompt, document in zip(prompts, answered, strict=True):
        ids = list(prompt.ids)
        while len(ids) < prompt.prompt_tokens + 12:
            ids.append(int(prefill(target, torch.tensor([ids])).logits[0, -1].argmax()))
            if ids[-1] == 0:
                break
        assert list(document.ids) == ids


def test_a_batch_marks_the_answers_with_their_end_of_text():
    batch = collate([Document((5, 6, 7, 0), 2), Document((5, 8, 0), 1)])

    assert batch.ids.tolist() == [[5, 6, 7, 0], [5, 8, 0, 0]]
    assert batch.answers.tolist() == [[False, False, True, True], [False, True, True, False]]


def test_the_tokenizer_gives_digits_alone_and_texts_back():
    examples = list(training_examples(0, 500))
    tokenizer = train_tokenizer(examples)

    documents = tokenize(examples, tokenizer)

    assert tokenizer.encode("1234").tokens == ["1", "2", "3", "4"]
    assert (tokenizer.token_to_id("<|endoftext|>"), tokenizer.token_to_id("<|mask|>")) == (
        END_OF_TEXT_ID,
        MASK_ID,
    )
    for example, document in zip(examples, documents, strict=True):
        assert document.ids[-1] == END_OF_TEXT_ID
        assert tokenizer.decode(document.ids[:-1]) == example.prompt + example.answer
        assert MASK_ID not in document.ids


def train(out):
    small = (
        "--steps 50 --drafter-steps 50 --early-step 5 --batch 2 --examples 400 --rollouts 4 "
        "--questions 2"
    )
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "ddbench.engine.train",
            "--out",
            out,
            *small.split(),
        ],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    return re.findall(r"^(\w+ \d+ loss [\d.]+)", run.stdout, re.MULTILINE)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    out = tmp_path_factory.mktemp("weights")
    return out, train(out)


def test_the_same_seed_gives_the_same_first_50_losses_of_both_models(trained, tmp_path):
    _, losses = trained

    again = train(tmp_path)

    assert len(losses) == 100
    assert again == losses


def test_what_training_writes_the_engine_loads(trained):
    out, _ = trained

    target = load_target(out / "target")
    full = load_drafter(out / "drafter", target)
    early = load_drafter(out / "drafter-undertrained", target)

    assert full.config.block_size == early.config.block_size == 8


def test_the_smallest_gap_is_taken_over_the_answer_alone():
    documents = [Document((5, 9, 33, 12, 0), 2), Document((7, 8, 41, 0), 3)]
    target = Target(TARGET, TARGET_WEIGHTS)

    gaps = smallest_gaps(TARGET_WEIGHTS, TARGET, documents)

    for document, gap in zip(documents, gaps.tolist(), strict=True):
        logits = prefill(target, torch.tensor([document.ids])).logits[0]
        choices = logits[document.prompt_tokens - 1 : -1].sort(-1, descending=True).values
        assert gap == pytest.approx(float((choices[:, 0] - choices[:, 1]).min()), abs=1e-4)


def test_training_writes_held_out_questions(trained):
    out, _ = trained

    for name in DOMAINS:
        lines = (out / "questions" / f"{name}.jsonl").read_text().splitlines()
        questions = [json.loads(line) for line in lines]
        assert [q["id"] for q in questions] == [f"{name}-{i:03}" for i in range(len(questions))]
        assert {q["category"] for q in questions} == {name}
        held_out = {example.prompt for example in held_out_examples(name)}
        assert {q["prompt"] for q in questions} <= held_out
