"""What a sweep shows of several hosts, and which options go together."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from ddbench.cli.event_lines import EventLines
from ddbench.cli.live import LiveView
from ddbench.events import LaunchStarted, OnHost, PassStarted, TrialEnded, TrialStarted
from ddbench.executors.measure import unmeasured
from ddbench.load.progress import Progress
from ddbench.plan.expand import expand
from ddbench.plan.read import parse_sweep

TRIALS = expand(
    parse_sweep("name: x\narms: [autoregressive]\nload: {concurrency: [1, 2]}\n", file="x.yaml")
)
LOG = Path("autoregressive-1.log")


def both_at_work(show: Callable[[object], None]) -> None:
    show(PassStarted(tuple(TRIALS)))
    for host, trial in zip(("alpha", "beta"), TRIALS, strict=False):
        show(OnHost(host, LaunchStarted(trial.arm, LOG)))
        show(OnHost(host, TrialStarted(trial)))


def test_each_line_names_its_host(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveView("plain") as view:
        both_at_work(view.show)
        view.show(OnHost("beta", TrialEnded(unmeasured(TRIALS[1], {}))))

    assert capsys.readouterr().err == "beta: [1/4] autoregressive at 2, repeat 1: 0 requests\n"


def test_the_table_says_what_every_host_is_at() -> None:
    view = LiveView("quiet")
    both_at_work(view.show)
    view.show(OnHost("beta", Progress(done=3, failed=0, total=8, tokens=30, elapsed_s=2.0)))

    table, status, *hosts = (str(part) for part in view._render().renderables)

    assert status == "0 of 4 trials."
    assert hosts == [
        "alpha: autoregressive at 1, repeat 1",
        "beta: autoregressive at 2, repeat 1. 3/8 requests, 15 tok/s completed",
    ]
    assert table


def test_events_name_their_host() -> None:
    stream = io.BytesIO()

    both_at_work(EventLines(stream).show)

    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["event"], line.get("host")) for line in lines] == [
        ("pass_started", None),
        ("launch_started", "alpha"),
        ("trial_started", "alpha"),
        ("launch_started", "beta"),
        ("trial_started", "beta"),
    ]


def test_an_option_for_hosts_alone_is_refused(
    ddbench: Callable[..., CompletedProcess[str]],
    write_sweep: Callable[..., Path],
    tmp_path: Path,
) -> None:
    done = ddbench("sweep", write_sweep(), "--out", tmp_path / "run", "--spread", "visits")

    assert done.returncode == 2
    assert done.stderr.startswith("error: --spread is for several hosts")
    assert not (tmp_path / "run").exists()
