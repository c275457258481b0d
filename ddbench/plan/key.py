"""What makes two trials the same measurement: everything asked, and the versions that served it."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256

from ddbench.records import Trial


def trial_key(trial: Trial, versions: Mapping[str, str]) -> str:
    """A SHA-256 in hex; equal in every process, and different when any setting differs."""
    asked = {"trial": asdict(trial), "versions": dict(versions)}
    canonical = json.dumps(asked, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256(canonical.encode()).hexdigest()
