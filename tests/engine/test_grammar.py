import json
import random
import re

import pytest

from ddbench.engine.grammar import (
    DOMAINS,
    HELD_OUT_PER_DOMAIN,
    held_out_examples,
    training_examples,
)


def examples(domain, count=300):
    return [e for e in training_examples(7, count * len(DOMAINS)) if e.domain == domain]


def test_the_same_seed_gives_the_same_text_and_another_seed_another():
    first = list(training_examples(3, 100))

    assert list(training_examples(3, 100)) == first
    assert list(training_examples(4, 100)) != first


def test_domains_take_turns():
    domains = [example.domain for example in training_examples(0, 10)]

    assert domains == [*sorted(DOMAINS), *sorted(DOMAINS)]


@pytest.mark.parametrize("domain", sorted(DOMAINS))
def test_held_out_questions_are_distinct_and_never_trained_on(domain):
    held_out = {example.prompt for example in held_out_examples(domain)}

    trained = {example.prompt for example in training_examples(0, 20_000)}

    assert len(held_out) == HELD_OUT_PER_DOMAIN
    assert not held_out & trained


def test_a_question_drawn_in_training_that_is_held_out_is_left_out(monkeypatch):
    """A domain of three questions would repeat them at once."""

    def three(rng: random.Random) -> tuple[str, str]:
        return rng.choice("abc"), "answer"

    monkeypatch.setitem(DOMAINS, "prose", three)
    monkeypatch.setattr(
        "ddbench.engine.grammar.held_out_examples", lambda _: held_out_examples("prose", 2)
    )

    prompts = {e.prompt for e in training_examples(0, 100) if e.domain == "prose"}

    assert len(prompts) == 1


def test_the_sums_of_the_arithmetic_domain_are_right():
    for example in examples("arithmetic"):
        steps = re.findall(r"(\d+) ([-+*]) (\d+) = (\d+)", example.answer)
        assert len(steps) == 2
        for left, sign, right, result in steps:
            value = {"+": int(left) + int(right), "-": int(left) - int(right)}
            value["*"] = int(left) * int(right)
            assert value[sign] == int(result)
        assert steps[-1][3] in example.answer.rsplit(". ", 1)[1]


def test_the_code_is_python_and_does_what_was_asked():
    for example in examples("code"):
        compile(example.answer, example.prompt, "exec")
        limit = re.search(r"(above|below) (\d+)", example.prompt)
        assert limit is not None
        sign = {"above": ">", "below": "<"}[limit[1]]
        assert f"{sign} {limit[2]}" in example.answer


def test_the_records_are_json_of_what_was_said():
    for example in examples("json"):
        record = json.loads(example.answer)
        said = re.search(r"(\w+) from (\w+) buys (\d+) (\w+) at (\d+),", example.prompt)
        assert said is not None
        name, city, count, thing, price = said.groups()
        assert (record["buyer"], record["city"], record[thing]) == (name, city, int(count))
        assert record["total"] == int(count) * int(price)


def test_no_two_trained_answers_are_equal_but_by_rare_chance():
    answers = [example.answer for example in training_examples(0, 20_000)]

    assert len(set(answers)) > 0.995 * len(answers)
