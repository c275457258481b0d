"""Who is left in a unit's control group, on machines of either kind (v1, v2, and both)."""

from pathlib import Path

_MOUNTS = ("systemd", "unified", "")  # v1, both at once, v2


def members(control_group: str, root: Path = Path("/sys/fs/cgroup")) -> list[int]:
    """Pids in the group and all groups below it; empty when it is gone, as after a unit's end."""
    if not control_group.strip("/"):  # systemd's own name for no group; never all of the machine
        return []
    found: set[int] = set()
    for mount in _MOUNTS:
        for processes in (root / mount / control_group.strip("/")).glob("**/cgroup.procs"):
            try:
                found |= {int(pid) for pid in processes.read_text().split()}
            except OSError:  # removed while we looked
                continue
    return sorted(found)
