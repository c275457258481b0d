"""python -m ddbench.engine.train: both models of the pair, from a seed.

Writes target/, drafter/, drafter-undertrained/ and questions/ (the held-out ones) into --out.

The same commit, torch version and thread count give the same losses.
"""

import argparse
import time
from pathlib import Path

import torch

from ddbench.engine.checkpoint import save_drafter, save_target
from ddbench.engine.drafter import DrafterConfig
from ddbench.engine.grammar import training_examples
from ddbench.engine.qwen3_layer import LayerShape
from ddbench.engine.target import Target, TargetConfig
from ddbench.engine.train.documents import tokenize
from ddbench.engine.train.fit import OnStep, Weights, fit_drafter, fit_target
from ddbench.engine.train.questions import SHIPPED_PER_DOMAIN, write_questions
from ddbench.engine.train.rollouts import MAX_ANSWER_TOKENS, greedy_answers
from ddbench.engine.train.tokenizer import END_OF_TEXT_ID, MASK_ID, VOCABULARY, train_tokenizer

TRAINING_EXAMPLES = 40_000
ROLLOUTS = 6_000

SHAPE = LayerShape(
    hidden_size=128,
    intermediate_size=384,
    attention_heads=4,
    kv_heads=2,
    head_dim=32,
    rms_norm_eps=1e-6,
)
TARGET = TargetConfig(
    vocab_size=VOCABULARY,
    layers=4,
    layer=SHAPE,
    rope_theta=10_000.0,
    max_positions=4096,
    eos_token_id=END_OF_TEXT_ID,
)
DRAFTER = DrafterConfig(
    vocab_size=VOCABULARY,
    layers=2,
    layer=SHAPE,
    rope_theta=10_000.0,
    max_positions=4096,
    block_size=8,
    mask_token_id=MASK_ID,
    target_layer_ids=(0, 1, 2),
    target_layers=TARGET.layers,
)


def main() -> None:
    arguments = _parse()
    torch.set_num_threads(arguments.threads)
    started_at = time.monotonic()
    examples = list(training_examples(arguments.seed, arguments.examples))
    tokenizer = train_tokenizer(examples[:20_000])
    documents = tokenize(examples, tokenizer)

    weights = fit_target(
        TARGET,
        documents,
        steps=arguments.steps,
        batch=arguments.batch,
        seed=arguments.seed,
        on_step=_printer("target", arguments.steps),
    )
    weights = _rounded(weights)
    save_target(arguments.out / "target", TARGET, weights, tokenizer)
    print(f"target done after {time.monotonic() - started_at:.0f} s", flush=True)

    target = Target(TARGET, weights)
    write_questions(
        arguments.out / "questions", weights, target, tokenizer, per_domain=arguments.questions
    )
    answered = greedy_answers(
        target,
        documents[: arguments.rollouts],
        max_new_tokens=MAX_ANSWER_TOKENS,
    )
    print(f"answers done after {time.monotonic() - started_at:.0f} s", flush=True)
    full, early = fit_drafter(
        DRAFTER,
        TARGET,
        weights,
        answered,
        steps=arguments.drafter_steps,
        batch=arguments.batch,
        seed=arguments.seed,
        early_step=arguments.early_step,
        on_step=_printer("drafter", arguments.drafter_steps),
    )
    for folder, drafter in (("drafter", full), ("drafter-undertrained", early)):
        save_drafter(
            arguments.out / folder,
            DRAFTER,
            _rounded(drafter),
            tokenizer,
            eos_token_id=END_OF_TEXT_ID,
        )
    print(f"all done after {time.monotonic() - started_at:.0f} s: {arguments.out}", flush=True)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m ddbench.engine.train", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("weights"), help="folder to write to")
    parser.add_argument("--steps", type=int, default=1000, help="of the target")
    parser.add_argument("--drafter-steps", type=int, default=500)
    parser.add_argument(
        "--early-step", type=int, default=50, help="the undertrained drafter stops here"
    )
    parser.add_argument("--batch", type=int, default=32, help="documents a step")
    parser.add_argument("--examples", type=int, default=TRAINING_EXAMPLES)
    parser.add_argument("--rollouts", type=int, default=ROLLOUTS)
    parser.add_argument(
        "--questions",
        type=int,
        default=SHIPPED_PER_DOMAIN,
        help="held-out questions to write for each domain",
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def _rounded(weights: Weights) -> Weights:
    """What will be on disk, in float32."""
    return {name: weight.detach().bfloat16().float() for name, weight in weights.items()}


def _printer(model: str, steps: int) -> OnStep:
    """Print the first 50 losses, then every 50th."""
    started_at = time.monotonic()

    def on_step(step: int, loss: float) -> None:
        if step < 50 or step % 50 == 0 or step == steps - 1:
            print(
                f"{model} {step} loss {loss:.6f} ({time.monotonic() - started_at:.0f} s)",
                flush=True,
            )

    return on_step


if __name__ == "__main__":
    main()
