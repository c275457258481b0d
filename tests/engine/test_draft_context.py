"""What the drafter sees of the text so far does not depend on how the text came to be.

Wrong features in its context would change no answer, only lower the acceptance, so nothing else
would notice. The reference is a request whose prompt is the text so far.
"""

import json

import pytest


@pytest.mark.parametrize("arm", ["linear", "tree"])
def test_a_step_drafts_what_it_would_draft_after_reading_its_text_as_a_prompt(
    arm, new_lab, flags_of, ask, prompts, tmp_path
):
    trace = tmp_path / "steps.jsonl"
    engine = new_lab(*flags_of[arm], "--step-trace", str(trace))
    answers = engine.answers([ask(prompt) for prompt in prompts[:4]])
    requests = [
        ask((*answer.request.prompt_ids, *answer.output_ids[:kept]), max_new_tokens=2)
        for answer in answers
        for kept in range(len(answer.output_ids) - 1)
    ]
    fresh = engine.answers(requests)
    engine.close()
    steps = {
        (step["rid"], step["prefix_len"]): step
        for step in map(json.loads, trace.read_text().splitlines())
    }

    compared = off_chain = 0
    for again in fresh:
        length = len(again.request.prompt_ids)
        expected = steps.get((again.request.rid, length))
        for answer in answers:
            same_text = (*answer.request.prompt_ids, *answer.output_ids)[:length]
            step = steps.get((answer.request.rid, length))
            if step is None or expected is None or same_text != again.request.prompt_ids:
                continue
            # Weights, not tokens: two nodes that weigh the same may change places.
            assert step["log_weights"] == pytest.approx(expected["log_weights"], abs=1e-3)
            compared += 1
            off_chain += step["accepted"] != list(range(len(step["accepted"])))
    assert compared >= 20
    assert off_chain > 0 or arm == "linear"
