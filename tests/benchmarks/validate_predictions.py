"""Do recorded drafts predict the verify steps of trees that nobody chose? On the embedded engine.

    python tests/benchmarks/validate_predictions.py [SETTINGS] [OUT] [SEED]

Runs one sweep: a recording, and SETTINGS random trees (budgets 1 to 128, topk 1 to 16) on the 48
questions of the quickstart, then `ddbench predict --validate` on it. Its exit code is that
command's: 0 when every request took the predicted number of steps, up to ties below 1e-5 nats in at
most one of 1,000. 30 settings take about ten minutes on an idle machine with two cores.
"""

import random
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK_SIZE = 8
COMMAND = [sys.executable, "-c", "from ddbench.cli.main import main; main()"]
SWEEP = """# Do recorded drafts predict the verify steps of random trees?
name: random-trees
server: {{engine: embedded, model: builtin}}
arms:
  - linear: {{block_size: {block_size}, record_drafts: true}}
  - linear: {{block_size: {block_size}}}
{trees}
load: {{prompts: "builtin:mixed", count: 48, concurrency: [8], max_new_tokens: 64}}
repeats: 1
"""


def random_settings(count: int, seed: int) -> list[tuple[int, int]]:
    """(budget, topk), each once, that a tree of this depth can be filled with."""
    rng = random.Random(seed)
    depth = BLOCK_SIZE - 1
    settings: set[tuple[int, int]] = set()
    while len(settings) < count:
        budget, topk = rng.randint(1, 128), rng.randint(1, 16)
        if budget <= sum(topk**level for level in range(1, depth + 1)):
            settings.add((budget, topk))
    return sorted(settings)


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(tempfile.mkdtemp()) / "random-trees"
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    trees = "\n".join(
        f"  - tree: {{block_size: {BLOCK_SIZE}, budget: {budget}, topk: {topk}}}"
        for budget, topk in random_settings(count, seed)
    )
    with tempfile.TemporaryDirectory() as folder:
        sweep = Path(folder, "sweep.yaml")
        sweep.write_text(SWEEP.format(block_size=BLOCK_SIZE, trees=trees))
        subprocess.run([*COMMAND, "sweep", sweep, "--out", out], check=True)
    return subprocess.run([*COMMAND, "predict", out, "--validate"]).returncode


if __name__ == "__main__":
    sys.exit(main())
