"""What a sweep shows while it runs, on stderr: a table on a terminal, plain lines elsewhere."""

import time
from dataclasses import dataclass
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
        self._hosts: dict[str, _Now] = {}
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
            case events.OnHost(host, on_host):
                self._show(on_host, host)
            case _:
                self._show(event, "")

    def _show(self, event: events.LaunchEvent, host: str) -> None:
        """host: "" is this machine."""
        now = self._hosts.setdefault(host, _Now())
        match event:
            case events.LaunchStarted(arm, log_path):
                now.log = None if host else log_path  # another host's comes when its server ended
                now.where = f"starting the server of {arm}"
            case events.LaunchEnded(launch):
                if launch.failure is not None:
                    crash = launch.failure.crash_class
                    self._line(f"{_at(host)}the server did not start: {crash}")
                    self._line(f"  {launch.failure.evidence}\n  try: {launch.failure.advice}")
                elif self._live is None:
                    self._line(f"{_at(host)}server ready after {launch.startup_s:.1f} s")
            case events.TrialStarted(trial):
                arm, load = self._table.running[host] = cell_of(trial)
                now.where = f"{arm} {load}, repeat {trial.repeat + 1}"
            case Progress():
                now.progress = event
            case events.TrialSpared(trial):
                self._trials -= 1
                self._table.spare(trial)
            case events.TrialEnded(result):
                self._ended += 1
                now.progress = None
                self._table.running.pop(host, None)
                self._table.take(result)
                if self._live is None or result.failure is not None:
                    count = f"[{self._ended}/{self._trials}]"
                    self._line(f"{_at(host)}{count} {now.where}: {_outcome(result)}")

    def _line(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    def _render(self) -> RenderableType:
        status = f"{self._ended} of {self._trials} trials{self._time_left()}. "
        lines: list[RenderableType] = []
        if len(hosts := list(self._hosts.items())) > 1:  # another thread draws
            for host, now in hosts:
                lines.append(Text(f"{_at(host)}{'. '.join(filter(None, [now.where, now.said()]))}"))
            return Group(self._table.render(), Text(status.rstrip()), *lines)
        now = hosts[0][1] if hosts else _Now()
        return Group(self._table.render(), Text(status + now.where), Text(now.said(), style="dim"))

    def _time_left(self) -> str:
        if not self._ended or self._ended >= self._trials:
            return ""
        spent_s = time.monotonic() - self._started_at
        left_s = spent_s / self._ended * (self._trials - self._ended)
        if left_s > 90:
            return f", about {left_s / 60:.0f} min left"
        return f", about {left_s:.0f} s left"


@dataclass
class _Now:
    """What a host is at."""

    where: str = "starting"
    progress: Progress | None = None
    log: Path | None = None

    def said(self) -> str:
        """The trial under way, by the client and by the server's own log."""
        said = []
        progress = self.progress
        if progress is not None and progress.elapsed_s > 0:
            rate = progress.tokens / progress.elapsed_s
            said.append(f"{progress.done}/{progress.total} requests, {rate:.0f} tok/s completed")
        window = None if self.log is None else last_decode_window(self.log)
        if window is not None:
            measured = [
                (window.running_requests, "{} running"),
                (window.throughput_tokens_per_s, "{:.0f} tok/s"),
                (window.accept_len_logged, "accept len {:.2f}"),
            ]
            log = [form.format(value) for value, form in measured if value is not None]
            said.append(f"log: {', '.join(log)}")
        return "; ".join(said)


def _at(host: str) -> str:
    return f"{host}: " if host else ""


def _outcome(result: RunResult) -> str:
    if result.failure is not None:
        return f"failed ({result.failure.crash_class}): {result.failure.evidence}"
    tokens = sum(request.completion_tokens for request in result.completed)
    rate = f", {tokens / result.wall_s:.0f} tok/s" if result.wall_s else ""
    return f"{len(result.completed)} requests{rate}"
