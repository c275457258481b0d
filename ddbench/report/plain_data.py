"""`ddbench report json`: the report as plain data.

Every number with an interval is an object: value, low, high (null where n allows no interval), n
(independent units), confidence, method, freedom. Times are seconds. null is "not measured".

| key | holds |
|---|---|
| schema_version | of these keys; it grows when one changes its meaning or goes |
| ddbench_version | of the program that wrote this |
| run | the sweep's name |
| first_trial_at, last_trial_at | when they started, UTC |
| launches, trials | how many; failed ones too |
| on_embedded_engine | true: the demo model on a CPU, whose speeds say nothing of others |
| loads | what was sent: prompts, count, max_new_tokens, concurrencies, rates_per_s, ... |
| findings | of the rules, errors first: severity, code, remedy, findings (subject, message, ...) |
| lacking | input, codes: rules that could not run somewhere for want of it |
| answer | one paragraph, as text |
| failed | launches and trials without a result: crash_class, advice, evidence, ... |
| failed_requests | count, arm, concurrency, rate_per_s, reason |
| failure_counts | the same in one sentence |
| rows | one an arm and load: concurrency, rate_per_s, tokens_per_step, tokens_per_s, tpot_s, ... |
| speedups | each arm over its linear and its autoregressive one |
| comparison | every tree against the linear arm: runs, pairs, losslessness, budgets, ... |
| not_compared | why there is none, though both ran |
| drafters | one a recording arm: coverage, calibration, trees with their verdicts |
| prediction | the best setting of each concurrency, and how wrong such predictions were |
| not_predicted | why there is none, though drafts were recorded |
| where | servers by arm, facts of the machines, unknown (a fact -> why) |
| notes | what the numbers do not say |
| levels | of `--slo`: the best arm of each concurrency, every arm under every limit |
"""

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

import orjson

from ddbench import __version__
from ddbench.compare.linear_vs_tree import LinearVsTree
from ddbench.compare.slo import Recommendation
from ddbench.report.content import SCHEMA_VERSION, Report
from ddbench.report.drafters import DrafterReport
from ddbench.report.prediction import Prediction
from ddbench.report.sections import plain


def render_json(report: Report) -> str:
    """Indented, ending in a newline; an infinite or undefined number is null."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(plain_data(report), option=options).decode()


def plain_data(report: Report) -> dict[str, Any]:
    """Its keys as above. The map of every predicted setting is left to `ddbench predict --json`."""
    data = _shallow(report)
    data["answer"] = plain(report.answer).strip()
    if report.comparison is not None:
        data["comparison"] = _labelled(report.comparison)
    data["drafters"] = [drafter_data(one) for one in report.drafters]
    data["levels"] = [_level_data(one) for one in report.levels]
    if report.prediction is not None:
        data["prediction"] = _shallow(report.prediction)
        del data["prediction"]["panels"]
    return {"schema_version": SCHEMA_VERSION, "ddbench_version": __version__, **data}


def comparison_data(
    found: LinearVsTree,
    *,
    drafters: Sequence[DrafterReport] = (),
    levels: Sequence[Recommendation] = (),
) -> dict[str, Any]:
    """Its fields, beside each pair and cell the label of its numbers; drafters; service levels."""
    return {
        **_labelled(found),
        "drafters": [drafter_data(one) for one in drafters],
        "slo": [_level_data(one) for one in levels],
    }


def drafter_data(found: DrafterReport) -> dict[str, Any]:
    """Its fields, and beside each tree what follows from them."""
    data = asdict(found)
    for tree, plain_tree in zip(found.trees, data["trees"], strict=True):
        plain_tree |= {"outcome": tree.outcome, "agrees": tree.agrees, "sentence": tree.sentence}
    return data


def _level_data(found: Recommendation) -> dict[str, Any]:
    return {**asdict(found), "verdict": found.verdict}


def _labelled(found: LinearVsTree) -> dict[str, Any]:
    data = asdict(found)
    for pair, plain_pair in zip(found.pairs, data["pairs"], strict=True):
        for cell, plain_cell in zip(pair.cells, plain_pair["cells"], strict=True):
            plain_cell["label"] = pair.label_of(cell)
        plain_pair["label"] = pair.label
    return data


def _shallow(record: Report | Prediction) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}
