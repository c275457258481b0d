import pytest

from ddbench.records import RepeatRule

ARMS = "name: demo\narms: [autoregressive]\n"


def test_a_number_is_how_often_and_nothing_ends_it_early(sweep):
    plan = sweep(f"{ARMS}repeats: 3")

    assert plan.repeats == 3
    assert plan.until is None


def test_a_rule_says_when_there_are_enough_and_at_most_how_many(sweep):
    plan = sweep(f"{ARMS}repeats: {{until: ttft_s, within: 0.05, at_most: 8}}")

    assert plan.repeats == 8
    assert plan.until == RepeatRule("ttft_s", 0.05)


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("{until: tokens_per_s, within: 0.03}", "`at_most` is missing"),
        ("{until: tokens, within: 0.03, at_most: 9}", "'tokens' is not possible here"),
        ("{until: ttft_s, within: 3, at_most: 9}", "3 is no precision"),
        ("{until: ttft_s, within: 0, at_most: 9}", "0 is no precision"),
        ("{until: ttft_s, within: 0.03, at_most: 2}", "2 is too small"),
        ("{until: ttft_s, within: 0.03, at_most: 5, or: 1}", "or"),
        ("often", "expected a whole number"),
    ],
)
def test_a_rule_that_says_nothing_is_refused(refusal, rule, problem):
    message, remedy = refusal(f"{ARMS}repeats: {rule}")

    assert message.startswith("demo.yaml line 3")
    assert problem in message
    assert remedy
