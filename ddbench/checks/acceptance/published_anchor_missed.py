from collections.abc import Iterator
from statistics import fmean

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.limits import verified_tokens
from ddbench.checks.needs import LOAD, SETTINGS, VERIFY_COUNTS
from ddbench.checks.rule import rule
from ddbench.records import LoadConfig, Speculation

SHARE = 0.1
BLOCK_SIZE = 16
MODELS = ("Qwen3-4B", "Qwen3-8B", "Qwen3-Coder-30B-A3B")
PUBLISHED = {
    "math-500": (7.72, 7.79, 5.58),
    "gsm8k": (6.51, 6.57, 5.18),
    "aime24": (7.54, 7.46, 5.16),
    "aime25": (7.37, 7.32, 5.13),
    "humaneval": (6.62, 6.61, 8.02),
    "mbpp": (6.10, 5.99, 7.61),
    "livecodebench": (7.02, 7.22, 6.32),
    "swe-bench": (3.66, 3.60, 3.61),
    "mt-bench": (4.38, 4.28, 3.52),
    "alpaca": (3.11, 3.12, 2.22),
}
"""Mean tokens a step of linear DFlash by data set, one a model: block 16, temperature 0, thinking
off. Source: the DDTree paper's table of results, its DFlash columns."""


@rule(
    "DDB129",
    "published-anchor-missed",
    Severity.WARNING,
    remedy="Check chat template, thinking flag, drafter, dtype and draft window against the paper.",
    needs=(VERIFY_COUNTS, LOAD, SETTINGS),
)
def published_anchor_missed(evidence: Evidence) -> Iterator[Outcome]:
    """The linear arm does not reach what its authors published for the same model and data.

    ## Why it matters
    It is the only outside check of a whole set-up. A wrong chat template, thinking switched on, a
    drafter for another checkpoint: all leave a working server with less acceptance, and every
    comparison made on it is of a weaker drafter.

    ## How it is computed
    A linear arm of block size 16 at temperature 0 whose target is one of the published models and
    whose prompt file names one of the published data sets. Mean over answers of tokens per step
    (the paper's average is over answers, not over steps), within 10 % of the published value.

    ## Example
    Bad: Qwen3-8B on gsm8k: 4.1 tokens a step, 6.57 published.
    Good: 6.3.
    """
    spec, load = evidence.speculation, evidence.load
    published = None
    if spec is not None and load is not None and _is_published_setting(spec, load):
        published = _published(evidence.settings.get("model_path", ""), load.prompts)
    if published is None:
        yield Lacks("a published figure for this model, data set and setting")
        return
    counted = [r for r in evidence.completed if r.verify_ct]
    mean = fmean(verified_tokens(r) / (r.verify_ct or 1) for r in counted)
    if abs(mean / published - 1.0) > SHARE:
        yield f"{mean:.2f} tokens a step over {len(counted)} answers, {published:.2f} published"


def _is_published_setting(spec: Speculation, load: LoadConfig) -> bool:
    return spec.budget is None and spec.block_size == BLOCK_SIZE and load.temperature == 0


def _published(model_path: str, prompts: str) -> float | None:
    name = model_path.rstrip("/").rpartition("/")[2].lower()
    source = prompts.lower().replace("_", "-")
    for column, model in enumerate(MODELS):
        for data_set, values in PUBLISHED.items():
            if name.startswith(model.lower()) and data_set in source:
                return values[column]
    return None
