"""What a sweep shows while it runs, on stderr: a table on a terminal, plain lines elsewhere."""

import time
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from ddbench import events
from ddbench.cli.live_table import LiveTable, cell_of, last_decode_window
from ddbench.load.progress import Progress
from ddbench.records import RunResult

REFRESHES_PER_S = 1.0  # drawing takes the interpreter from the load for some milliseconds

View = Literal["live", "plain", "quiet"]


class LiveView:
    """Feed it the events of a sweep. Time left assumes that the rest costs what the past did.

    view: "live" becomes "plain" where stderr is no terminal.
    """

    def __init__(self, view: View = "live") -> None:
        self._console = Console(stderr=True, highlight=False, quiet=view == "quiet")
        self._table = LiveTable()
        self._trials = 0
        self._ended = 0
        self._started_at = time.monotonic()
        self._where = "starting"
        self._progress: Progress | None = None
        self._log: Path | None = None
        self._live: Live | None = None
        if view == "live" and self._console.is_terminal:
            self._live = Live(
                console=self._console,
                refresh_per_second=REFRESHES_PER_S,
                transient=True,
                get_renderable=self._render,
                redirect_stdout=False,
                redirect_stderr=False,
            )

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, event: events.Event) -> None:
        match event:
            case events.PassStarted(trials):
                self._trials += len(trials)
                self._table.ask(trials)
            case events.LaunchStarted(arm, log_path):
                self._log = log_path
                self._where = f"starting the server of {arm}"
            case events.LaunchEnded(launch):
                if launch.failure is not None:
                    self._line(f"the server did not start: {launch.failure.crash_class}")
                    self._line(f"  {launch.failure.evidence}\n  try: {launch.failure.advice}")
                elif self._live is None:
                    self._line(f"server ready after {launch.startup_s:.1f} s")
            case events.TrialStarted(trial):
                arm, load = self._table.running = cell_of(trial)
                self._where = f"{arm} {load}, repeat {trial.repeat + 1}"
            case Progress():
                self._progress = event
            case events.TrialSpared(trial):
                self._trials -= 1
                self._table.spare(trial)
            case events.TrialEnded(result):
                self._ended += 1
                self._progress = None
                self._table.take(result)
                if self._live is None or result.failure is not None:
                    count = f"[{self._ended}/{self._trials}]"
                    self._line(f"{count} {self._where}: {_outcome(result)}")

    def _line(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    def _render(self) -> RenderableType:
        status = f"{self._ended} of {self._trials} trials{self._time_left()}. {self._where}"
        return Group(self._table.render(), Text(status), Text(self._now(), style="dim"))

    def _now(self) -> str:
        """The trial under way, by the client and by the server's own log."""
        said = []
        progress = self._progress
        if progress is not None and progress.elapsed_s > 0:
            rate = progress.tokens / progress.elapsed_s
            said.append(f"{progress.done}/{progress.total} requests, {rate:.0f} tok/s completed")
        window = None if self._log is None else last_decode_window(self._log)
        if window is not None:
            measured = [
                (window.running_requests, "{} running"),
                (window.throughput_tokens_per_s, "{:.0f} tok/s"),
                (window.accept_len_logged, "accept len {:.2f}"),
            ]
            log = [form.format(value) for value, form in measured if value is not None]
            said.append(f"log: {', '.join(log)}")
        return "; ".join(said)

    def _time_left(self) -> str:
        if not self._ended or self._ended >= self._trials:
            return ""
        spent_s = time.monotonic() - self._started_at
        left_s = spent_s / self._ended * (self._trials - self._ended)
        if left_s > 90:
            return f", about {left_s / 60:.0f} min left"
        return f", about {left_s:.0f} s left"


def _outcome(result: RunResult) -> str:
    if result.failure is not None:
        return f"failed ({result.failure.crash_class}): {result.failure.evidence}"
    tokens = sum(request.completion_tokens for request in result.completed)
    rate = f", {tokens / result.wall_s:.0f} tok/s" if result.wall_s else ""
    return f"{len(result.completed)} requests{rate}"
