import textwrap

import pytest

from ddbench.errors import PlanError
from ddbench.plan.read import parse_sweep


@pytest.fixture
def sweep():
    """A plan from YAML; `arms` only, or the whole text."""

    def parse(text, **environment):
        return parse_sweep(textwrap.dedent(text), file="demo.yaml", environment=environment or {})

    return parse


@pytest.fixture
def refusal(sweep):
    """The message and the remedy with which a text is refused."""

    def refused(text):
        with pytest.raises(PlanError) as caught:
            sweep(text)
        return str(caught.value), caught.value.remedy

    return refused
