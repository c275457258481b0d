"""The captured answers of real SGLang, held against each other: what must agree within one server.

No server runs here. `tests/fixtures/capture_sglang.py` captures them again.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ddbench.logs.excerpt import read_excerpt

PAIR = Path(__file__).parent.parent / "fixtures" / "sglang-0.5.23-pair"
ARMS = ("autoregressive", "dflash", "ngram")
SPECULATIVE = ("dflash", "ngram")


def answers(arm: str) -> list[dict[str, Any]]:
    found = json.loads((PAIR / arm / "generate-x4.json").read_text())
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("arm", SPECULATIVE)
def test_drafting_changed_no_token(arm: str) -> None:
    plain = [answer["output_ids"] for answer in answers("autoregressive")]

    assert [answer["output_ids"] for answer in answers(arm)] == plain


@pytest.mark.parametrize("arm", SPECULATIVE)
def test_the_histogram_counts_the_steps_and_the_correct_drafts(arm: str) -> None:
    for answer in answers(arm):
        meta = answer["meta_info"]
        histogram = meta["spec_correct_drafts_histogram"]

        assert sum(histogram) == meta["spec_verify_ct"]
        assert sum(d * n for d, n in enumerate(histogram)) == meta["spec_num_correct_drafts"]
        assert meta["spec_num_proposed_drafts"] == 7 * meta["spec_verify_ct"]
        assert meta["spec_accept_length"] == pytest.approx(
            meta["completion_tokens"] / meta["spec_verify_ct"]
        )


@pytest.mark.parametrize("arm", SPECULATIVE)
def test_drafts_are_counted_before_the_cut_at_the_length_limit(arm: str) -> None:
    """sglang/srt/managers/scheduler_components/batch_result_processor.py line 834 (0.5.23).

    A step emits its correct drafts and one token more; the first token came from the prefill.
    """
    for answer in answers(arm):
        meta = answer["meta_info"]
        emitted = 1 + meta["spec_num_correct_drafts"] + meta["spec_verify_ct"]

        assert 0 <= emitted - meta["completion_tokens"] <= 7


@pytest.mark.parametrize("arm", ARMS)
def test_every_decode_line_of_the_log_is_read(arm: str) -> None:
    path = PAIR / arm / "server.log"
    lines = [line for line in path.read_text().splitlines() if "Decode batch" in line]

    windows = read_excerpt(path, 0, None).decode

    assert len(windows) == len(lines) > 20
    assert all((w.accept_len_logged is not None) == (arm in SPECULATIVE) for w in windows)


@pytest.mark.parametrize("path", sorted(PAIR.rglob("*.*")), ids=lambda p: p.name)
def test_no_path_of_the_capturing_machine_is_left(path: Path) -> None:
    text = path.read_text()

    assert re.search(r"/(home|root|tmp|opt)/", text) is None
