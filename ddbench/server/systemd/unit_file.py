"""A unit file for an administrator: the server of one arm, run for good."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from ddbench.records import ServerCommand
from ddbench.server.systemd.transient import DEFAULT_STOP_S
from ddbench.server.systemd.unit_text import command_line, environment_lines, in_file

_LIMITS = {"memory_max": "MemoryMax", "cpu_affinity": "CPUAffinity", "slice": "Slice"}


def unit_file(command: ServerCommand, options: Mapping[str, str], *, description: str) -> str:
    """The text of NAME.service; `options` are those of `launcher: systemd`."""
    scope = options.get("scope", "user")
    folder = "/etc/systemd/system" if scope == "system" else "~/.config/systemd/user"
    program = shutil.which(command.argv[0]) or command.argv[0]
    lines = [
        f"# Save it as {folder}/NAME.service, then:",
        f"#   systemctl --{scope} daemon-reload && systemctl --{scope} enable --now NAME",
        f"# Read its log: journalctl {'--unit' if scope == 'system' else '--user-unit'} NAME;"
        " check it: ddbench check --unit NAME",
        "[Unit]",
        f"Description={in_file(description)}",
        *(["Wants=network-online.target"] if scope == "system" else []),
        *(["After=network-online.target"] if scope == "system" else []),
        "StartLimitIntervalSec=600",
        "StartLimitBurst=5",
        "",
        "[Service]",
        "Type=exec",
        f"ExecStart={in_file(command_line((program, *command.argv[1:])))}",
        f"WorkingDirectory={in_file(str(Path.cwd()))}",
        *environment_lines(command.env),
        "# For secrets such as HF_TOKEN, name a file with mode 0600 that has NAME=value lines:",
        "#EnvironmentFile=",
        "Restart=on-failure",
        "RestartSec=10",
        "KillMode=control-group",
        f"TimeoutStopSec={options.get('timeout_stop_s', f'{DEFAULT_STOP_S:g}')}",
        *(f"{name}={options[option]}" for option, name in _LIMITS.items() if option in options),
        "",
        "[Install]",
        f"WantedBy={'multi-user.target' if scope == 'system' else 'default.target'}",
    ]
    return "\n".join([*lines, ""])
