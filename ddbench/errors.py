"""Everything ddbench raises on purpose.

DdbenchError                 what went wrong + what to do; the CLI prints both
├── PlanError                a sweep file says something impossible
├── PromptError              a prompt file that cannot be used
├── LoadError                a load that cannot be sent as asked
├── ServerError
│   ├── PortInUse
│   ├── ServerExitedEarly
│   ├── ServerNotReady
│   ├── ServerSurvived       still alive after SIGKILL
│   ├── ServerUntrusted      an https server whose certificate says nothing to this machine
│   └── UnitEnded            a systemd unit ended in a way that its state explains
├── LogFormatError           a log line of a known kind that we cannot read
├── ModelFilesError          weights, config or tokenizer that the embedded engine cannot use
├── SetupError               an environment that ddbench cannot prepare
├── PatchError               a patch series that does not fit, or a copy that was changed
├── RunError                 a run folder that cannot be created, opened or read
├── EngineError              settings or weights that the embedded server cannot run
├── RequestRefused           a request that the embedded server answers with status 400
├── ClusterError             a Ray cluster that cannot be used as asked
├── RemoteError              what a host of it refused
└── NotComparable            two results that must not be divided by each other
"""

from pathlib import Path


class DdbenchError(Exception):
    """A failure the user can act on. `remedy` is one imperative sentence."""

    def __init__(self, message: str, *, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class PlanError(DdbenchError):
    pass


class PromptError(DdbenchError):
    pass


class LoadError(DdbenchError):
    pass


class ServerError(DdbenchError):
    pass


class PortInUse(ServerError):
    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"something already listens on {host}:{port}",
            remedy="Stop it, or give this server another `port` in the sweep file.",
        )


class ServerExitedEarly(ServerError):
    def __init__(self, exit_code: int, log_path: Path, last_lines: str) -> None:
        super().__init__(
            f"the server exited with code {exit_code} before it was ready\n"
            f"last lines of {log_path}:\n{last_lines}",
            remedy="Fix what the log names, then run the sweep again.",
        )
        self.exit_code = exit_code
        self.log_path = log_path


class ServerNotReady(ServerError):
    def __init__(self, waited_s: float, log_path: Path, last_lines: str) -> None:
        super().__init__(
            f"the server was not ready after {waited_s:.0f} s\n"
            f"last lines of {log_path}:\n{last_lines}",
            remedy="Read the log; a large model may need a longer `ready_timeout_s` in `server:`.",
        )
        self.log_path = log_path


class ServerSurvived(ServerError):
    def __init__(self, pids: list[int]) -> None:
        super().__init__(
            f"processes {pids} of the server outlived SIGKILL",
            remedy="They hang in the kernel, often in a GPU driver: look at `dmesg`.",
        )


class ServerUntrusted(ServerError):
    def __init__(self, base_url: str, why: str) -> None:
        super().__init__(
            f"no TLS with {base_url}: {why}",
            remedy="Point $SSL_CERT_FILE at the certificate of the authority that signed it.",
        )


class UnitEnded(ServerError):
    """`crash_class` and `evidence` as in a Failure.

    certain: no line of the log can say it better.
    """

    def __init__(
        self, unit: str, *, crash_class: str, evidence: str, certain: bool, remedy: str
    ) -> None:
        super().__init__(f"{unit} ended: {evidence}", remedy=remedy)
        self.crash_class = crash_class
        self.evidence = evidence
        self.certain = certain


class LogFormatError(DdbenchError):
    pass


class ModelFilesError(DdbenchError):
    pass


class SetupError(DdbenchError):
    pass


class PatchError(DdbenchError):
    pass


class RunError(DdbenchError):
    pass


class EngineError(DdbenchError):
    pass


class RequestRefused(DdbenchError):
    pass


class ClusterError(DdbenchError):
    pass


class RemoteError(DdbenchError):
    """kind: the name of the class that was raised on the host."""

    def __init__(self, message: str, *, remedy: str, kind: str) -> None:
        super().__init__(message, remedy=remedy)
        self.kind = kind


class NotComparable(DdbenchError):
    pass
