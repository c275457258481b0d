"""Why a unit's server is no longer running, whether or not systemd still knows the unit."""

from pathlib import Path

from ddbench.errors import ServerError, UnitEnded
from ddbench.server.systemd.commands import Scope
from ddbench.server.systemd.last_words import last_words
from ddbench.server.systemd.runtime_folder import runtime_folder
from ddbench.server.systemd.unit_state import read_unit_state
from ddbench.server.systemd.verdict import verdict


def why_ended(scope: Scope, unit: str, log_path: Path) -> ServerError | None:
    """None while it runs. Raises ServerError when systemd does not answer."""
    state = read_unit_state(scope, unit)
    if state.is_loaded:
        return verdict(unit, state, log_path)
    noted = last_words(runtime_folder(scope, unit))
    if noted is not None:
        return verdict(unit, noted, log_path)
    return UnitEnded(
        unit,
        crash_class="unit_gone",
        evidence="systemd does not know the unit, and it noted nothing at its end",
        certain=False,
        remedy="Look at the machine's journal: did somebody stop the unit or its manager?",
    )
