"""The `repeats` of a sweep file: a number, or a rule that says when there are enough.

repeats: 2
repeats: {until: tokens_per_s, within: 0.03, at_most: 10}

The rule ends the repeats of a trial when half the 95 % interval is 3 % of the mean.
"""

from typing import cast, get_args

from ddbench.plan.marked_yaml import Marked
from ddbench.records import RepeatMetric, RepeatRule

KEYS = ("until", "within", "at_most")
DEFAULT = 2
FEWEST_AT_MOST = 3


def read_repeats(node: Marked | None) -> tuple[int, RepeatRule | None]:
    """How many repeats, or at most how many and the rule that ends them."""
    if node is None:
        return DEFAULT, None
    if not isinstance(node.content, dict):
        return node.integer(at_least=1), None
    given = node.mapping(known=KEYS)
    if missing := [key for key in KEYS if key not in given]:
        raise node.error(
            f"`{missing[0]}` is missing",
            remedy="Write a number, or {until: tokens_per_s, within: 0.03, at_most: 10}.",
        )
    metric = cast(RepeatMetric, given["until"].one_of(get_args(RepeatMetric)))
    within = given["within"].number(at_least=0.0)
    if not 0.0 < within < 1.0:
        raise given["within"].error(
            f"{within:g} is no precision", remedy="Write a share of the mean, like 0.03 for 3 %."
        )
    at_most = given["at_most"].integer(at_least=FEWEST_AT_MOST)
    return at_most, RepeatRule(metric, within)
