"""How many GPUs this machine has, by the files of their driver."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

_CARD = re.compile(r"nvidia[0-9]+")


def count_gpus(devices: Path = Path("/dev"), environment: Mapping[str, str] = os.environ) -> int:
    """NVIDIA's cards, as far as CUDA_VISIBLE_DEVICES lets a server see them."""
    there = sum(_CARD.fullmatch(file.name) is not None for file in devices.iterdir())
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return there
    return min(there, sum(bool(name.strip()) and name != "-1" for name in visible.split(",")))
