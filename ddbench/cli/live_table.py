"""The table of a sweep under way: a row an arm, a column a load, a number for what has ended."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean

from rich.table import Table

from ddbench.errors import LogFormatError
from ddbench.logs.decode_line import parse_decode_line
from ddbench.records import DecodeWindow, LoadConfig, RunResult, Trial
from ddbench.server.log_tail import last_lines

Cell = tuple[str, str]


class LiveTable:
    """Throughput of the trials that ended, by arm and load, beside how many are still to come."""

    def __init__(self) -> None:
        self._arms: dict[str, None] = {}
        self._loads: dict[str, None] = {}
        self._asked: Counter[Cell] = Counter()
        self._rates: dict[Cell, list[float]] = defaultdict(list)
        self._failed: Counter[Cell] = Counter()
        self.running: dict[str, Cell] = {}  # by host

    def ask(self, trials: Iterable[Trial]) -> None:
        """These will be run, failed ones again."""
        self._failed.clear()
        for cell, count in Counter(map(cell_of, trials)).items():
            arm, load = cell
            self._arms.setdefault(arm)
            self._loads.setdefault(load)
            self._asked[cell] = len(self._rates[cell]) + count

    def spare(self, trial: Trial) -> None:
        self._asked[cell_of(trial)] -= 1

    def take(self, result: RunResult) -> None:
        cell = cell_of(result.trial)
        if result.failure is not None:
            self._failed[cell] += 1
        else:
            tokens = sum(request.completion_tokens for request in result.completed)
            self._rates[cell].append(tokens / result.wall_s if result.wall_s else 0.0)

    def render(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column("tok/s", no_wrap=True, overflow="ellipsis")
        for load in list(self._loads):
            table.add_column(load, justify="right", no_wrap=True)
        for arm in list(self._arms):  # another thread draws
            table.add_row(arm, *(self._text((arm, load)) for load in self._loads))
        return table

    def _text(self, cell: Cell) -> str:
        rates, asked = self._rates[cell], self._asked[cell]
        if not asked:
            return ""
        parts = [f"{fmean(rates):.0f}" if rates else "-"]
        if len(rates) < asked:
            parts.append(f"{len(rates)}/{asked}")
        if self._failed[cell]:
            parts.append(f"{self._failed[cell]} failed")
        return " ".join([*parts, *(["<"] if cell in self.running.values() else [])])


def cell_of(trial: Trial) -> Cell:
    return trial.arm, _named(trial.load)


def last_decode_window(log: Path) -> DecodeWindow | None:
    """What the server last said of its own decoding."""
    for line in reversed(last_lines(log, 40).splitlines()):
        try:
            window = parse_decode_line(line)
        except LogFormatError:
            continue
        if window is not None:
            return window
    return None


def _named(load: LoadConfig) -> str:
    if load.rate_per_s is not None:
        return f"{load.arrival} {load.rate_per_s:g}/s"
    return f"at {load.concurrency}"
