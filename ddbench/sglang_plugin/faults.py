"""Faults to plant in SGLang on purpose, so that a test of correctness can prove it would notice.

Tokens alone prove little on a small model: a dropped mask often leaves every argmax where it was.
"""

import os
from enum import Enum

VARIABLE = "DDBENCH_SGLANG_FAULT"


class Fault(Enum):
    VERIFY_MASK_DROPPED = "verify-mask-dropped"
    """The target sees the whole draft block while it verifies, later tokens included."""

    ACCEPT_ONE_TOO_MANY = "accept-one-too-many"
    """A step accepts one drafted token more than the target agrees with (DFLASH)."""


def planted_fault() -> Fault | None:
    """Raises ValueError, naming the choices, when the variable holds anything else."""
    name = os.environ.get(VARIABLE)
    return Fault(name) if name else None
