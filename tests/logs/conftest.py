from collections.abc import Callable
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent.parent / "fixtures" / "logs"


@pytest.fixture
def captured() -> Callable[[str], Path]:
    """The log of a real server, cut to some lines of each kind: sglang-0.5.23-dflash, ..."""
    return lambda name: FIXTURES / f"{name}.log"
