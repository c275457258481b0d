"""Does a limit hold? A manager without the memory controller accepts MemoryMax= and ignores it."""

from pathlib import Path

from ddbench.errors import ServerError
from ddbench.server.systemd.commands import Scope
from ddbench.server.systemd.unit_state import read_unit_state

_NO_LIMIT = 1 << 62  # v1 shows the largest multiple of a page


def require_memory_limit(scope: Scope, unit: str, root: Path = Path("/sys/fs/cgroup")) -> None:
    """Raises ServerError when the kernel was not told of the unit's MemoryMax=."""
    state = read_unit_state(scope, unit)
    group = state.control_group.strip("/")
    if not group or state.memory_max is None or has_memory_limit(group, root):
        return
    if read_unit_state(scope, unit).is_over:  # its group went with it
        return
    raise ServerError(
        f"MemoryMax={state.memory_max} does not hold for {unit}: the {scope} manager has no "
        "control of memory here",
        remedy="Write `scope: system`, delegate the memory controller to user managers, or remove "
        "`memory_max`.",
    )


def has_memory_limit(group: str, root: Path) -> bool:
    for file in (
        root / "memory" / group / "memory.limit_in_bytes",  # v1
        root / group / "memory.max",  # v2
    ):
        if file.exists():
            said = file.read_text(encoding="ascii").strip()
            return said.isdigit() and int(said) < _NO_LIMIT
    return False
