"""What a sweep tells while it runs, in order: to whoever shows it, and to whoever stores it."""

from dataclasses import dataclass
from pathlib import Path

from ddbench.load.progress import Progress
from ddbench.records import Launch, RunResult, Trial


@dataclass(frozen=True, slots=True)
class PassStarted:
    trials: tuple[Trial, ...]  # to be run, unless spared


@dataclass(frozen=True, slots=True)
class LaunchStarted:
    arm: str
    log_path: Path


@dataclass(frozen=True, slots=True)
class LaunchEnded:
    """The server is ready, or never will be."""

    launch: Launch


@dataclass(frozen=True, slots=True)
class TrialStarted:
    trial: Trial


@dataclass(frozen=True, slots=True)
class TrialSpared:
    trial: Trial


@dataclass(frozen=True, slots=True)
class TrialEnded:
    result: RunResult


LaunchEvent = LaunchStarted | LaunchEnded | TrialStarted | Progress | TrialSpared | TrialEnded


@dataclass(frozen=True, slots=True)
class OnHost:
    """What happens on one of several hosts."""

    host: str
    event: LaunchEvent


Event = PassStarted | LaunchEvent | OnHost
