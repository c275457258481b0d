"""No bytes make `ddbench check` fall over: evidence, or one of ddbench's own errors."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ddbench.checks.run import check
from ddbench.cli.check_inputs import Reading, read_evidence
from ddbench.errors import DdbenchError

FIXTURES = Path(__file__).parent.parent / "fixtures"
STEP = {
    "rid": "a", "step": 0, "prefix_len": 5, "root": 7, "parents": [-1, 0, 0], "tokens": [7, 1, 2],
    "depths": [0, 1, 1], "log_weights": [0.0, -0.1, -2.0], "accepted": [0, 1],
    "target": [1, 3, None], "bonus": 3, "commit": [1, 3], "finished": False,
}  # fmt: skip
ANSWER = {
    "text": "a b",
    "output_ids": [1, 2, 3],
    "meta_info": {
        "finish_reason": {"type": "length", "length": 3},
        "prompt_tokens": 4,
        "completion_tokens": 3,
        "spec_verify_ct": 1,
        "spec_num_correct_drafts": 1,
        "spec_num_proposed_drafts": 7,
        "spec_accept_length": 3.0,
        "spec_accept_rate": 1 / 7,
        "spec_correct_drafts_histogram": [0, 1],
        "e2e_latency": 0.5,
    },
}
SERVING = json.loads((FIXTURES / "tools" / "sglang-0.5.23-bench-serving.jsonl").read_text())
LINE = (FIXTURES / "logs" / "sglang-0.5.23-dflash.log").read_bytes()

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
MANY = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def examine(path: Path) -> None:
    """All that `ddbench check` does with a file, but for the printing."""
    try:
        evidence = list(read_evidence(path, Reading()))
    except DdbenchError:
        return
    check(evidence)


@pytest.mark.parametrize("given_object", [STEP, ANSWER, SERVING], ids=["step", "answer", "tool"])
@MANY
@given(data=st.data())
def test_any_value_of_any_field_is_read_or_refused(tmp_path, given_object, data):
    changed = json.loads(json.dumps(given_object))
    where = changed["meta_info"] if data.draw(st.booleans()) and "meta_info" in changed else changed
    where[data.draw(st.sampled_from(sorted(where)))] = data.draw(values)
    path = tmp_path / "given.json"
    path.write_text(json.dumps(changed) + "\n")

    examine(path)


@MANY
@given(data=st.data())
def test_a_file_that_is_cut_or_changed_anywhere_is_read_or_refused(tmp_path, data):
    whole = data.draw(
        st.sampled_from([json.dumps(o).encode() + b"\n" for o in (STEP, ANSWER, SERVING)] + [LINE])
    )
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 200)))
    path = tmp_path / "given"
    path.write_bytes(whole[:start] + data.draw(st.binary(max_size=20)) + whole[end:])

    examine(path)


@MANY
@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(tmp_path, content):
    path = tmp_path / "given"
    path.write_bytes(content)

    examine(path)
