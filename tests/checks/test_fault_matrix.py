"""Every planted fault is found by the rules that are meant to find it, and by few others.

Real servers, real sweeps: a few minutes. Not part of the default run: `pytest -m faults`, with
`-k NAME` for one of them.
`DDBENCH_FAULT_MATRIX=write` also writes what was measured to ddbench/checks/fault_matrix.json, and
`python -m ddbench.checks.index` puts it into the index of the rules.

Each fault is planted twice: at its full dose, and at the smallest at which it is still found, of
1, 1/4 and 1/16 of the occasions (of `dose`, where that is less than 1).
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest
import requests

import ddbench.checks
from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Finding, Severity
from ddbench.checks.run import check, check_one
from ddbench.cli.check_inputs import Reading, read_evidence
from ddbench.engine.faults import Fault
from ddbench.engine.planted.table import effect_of
from ddbench.load.prompts import read_prompts

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]

MATRIX = Path(ddbench.checks.__file__).parent / "fault_matrix.json"
ARMS_A_SWEEP = 16

ARMS = {
    "plain": "algorithm: null",
    "line": "algorithm: DFLASH, block_size: 8",
    "chain": "algorithm: DDTREE, block_size: 8, budget: 7, topk: 1",
    "small": "algorithm: DDTREE, block_size: 8, budget: 7, topk: 4",
    "tree": "algorithm: DDTREE, block_size: 8, budget: 15, topk: 4",
    "large": "algorithm: DDTREE, block_size: 8, budget: 31, topk: 4",
}

# Wall times of arms that were measured minutes apart differ for other reasons than the fault.
BETWEEN_TIMES = {"DDB206", "DDB412", "DDB413", "DDB414", "DDB415", "DDB419"}
# Notes on every short run, healthy or not.
OF_SHORT_RUNS = {"DDB207", "DDB208", "DDB416"}


@dataclass(frozen=True)
class Load:
    concurrency: tuple[int, ...] = (4,)
    count: int = 12
    max_new_tokens: int = 64
    temperature: float = 0.0
    repeats: int = 1
    interval: int = 2
    healthy: tuple[str, ...] = ("plain", "line", "tree")


LOADS = {
    "four": Load(healthy=tuple(ARMS)),
    "more": Load(count=16, healthy=("plain", "line")),
    "short": Load(max_new_tokens=24, healthy=("plain",)),
    "alone": Load(concurrency=(1,), repeats=2, healthy=("plain", "line")),
    "both": Load(concurrency=(1, 4), healthy=("plain", "line")),
    "warm": Load(temperature=0.8, healthy=("plain", "line")),
    "long": Load(concurrency=(1,), count=25, interval=1, healthy=("plain",)),
    "slow": Load(concurrency=(1,), count=2, max_new_tokens=96, healthy=("plain",)),
    "stall": Load(healthy=("plain", "tree")),
    "one-or-four": Load(concurrency=(1, 4), healthy=("plain",)),
}


@dataclass(frozen=True)
class Case:
    """must: every one of these fires. may: these may, and nothing else does."""

    fault: str
    arm: str
    must: tuple[str, ...]
    may: tuple[str, ...] = ()
    least: float = 1.0  # the smallest dose at which any of them still fires
    load: str = "four"
    also: str = ""  # a second load of the same arm
    beside: tuple[str, ...] = ("plain", "line")
    dose: float = 1.0
    env: Mapping[str, str] = field(default_factory=dict)
    timed: bool = False  # the fault is one of timing
    answers: bool = False  # seen in whole answers of /generate, which a sweep does not keep

    @property
    def doses(self) -> set[float]:
        return {1.0, self.least}

    def key(self, dose: float) -> str:
        return f"{self.fault}-{self.arm}-{round(dose * self.dose * 10_000)}"


CASES: tuple[Case, ...] = (
    # what is drafted
    Case("weights-dropped", "line", ("DDB107", "DDB152")),
    Case("draft-shifted", "line", ("DDB108",), ("DDB152",)),
    Case("draft-cache-coarse", "line", ("DDB309",), ("DDB108", "DDB152", "DDB402")),
    Case("draft-decays", "line", ("DDB111",), ("DDB107", "DDB152"), load="long", beside=("plain",)),
    Case("wrong-block-size", "line", ("DDB301", "DDB303")),
    Case("shard-normalised", "tree", ("DDB152",)),
    Case("budget-counts-root", "tree", ("DDB148",), least=0.0625),
    Case("depth-bonus", "tree", ("DDB149",), ("DDB410",), least=0.0625),
    Case("first-nodes-swapped", "tree", ("DDB149", "DDB150"), least=0.0625),
    Case("best-child-lost", "tree", ("DDB410",), ("DDB409", "DDB152")),
    Case("chain-branches", "chain", ("DDB151", "DDB404"), least=0.0625),
    Case("ranks-shuffled", "small", ("DDB409",), load="more"),
    # how it is verified
    Case("mask-dropped", "tree", ("DDB405",), ("DDB409", "DDB410"), least=0.25),
    Case("maskless-backend", "tree", ("DDB304", "DDB402", "DDB405"), ("DDB409", "DDB410")),
    Case("kv-not-moved", "tree", ("DDB405",), ("DDB409",), least=0.25),
    Case(
        "slot-aliased",
        "tree",
        ("DDB146", "DDB405", "DDB409", "DDB410"),
        ("DDB152", "DDB501"),
        least=0.0625,
    ),
    Case(
        "wrong-row",
        "line",
        ("DDB112", "DDB405", "DDB411"),
        ("DDB108", "DDB111"),  # from one request at a time to several, acceptance falls in time
        least=0.0625,
        load="both",
    ),
    Case("stale-buffer", "line", ("DDB406",), least=0.0625, load="alone", dose=0.2),
    Case(
        "walk-over-padding",
        "tree",
        ("DDB104", "DDB122", "DDB124", "DDB140", "DDB141", "DDB142", "DDB152", "DDB405"),
        ("DDB101", "DDB102", "DDB120"),
        least=0.0625,
    ),
    Case("walk-stops-early", "tree", ("DDB143",), least=0.0625),
    Case(
        "path-off-by-one",
        "tree",
        ("DDB141", "DDB142", "DDB145"),
        ("DDB143", "DDB144"),
        least=0.0625,
    ),
    Case("near-miss-accepted", "tree", ("DDB142", "DDB405"), ("DDB143", "DDB144"), least=0.0625),
    Case(
        "bonus-from-padding",
        "tree",
        ("DDB144", "DDB405"),
        ("DDB152", "DDB409", "DDB410"),
        least=0.0625,
    ),
    Case(
        "simulated-acceptance",
        "line",
        ("DDB110", "DDB142", "DDB302", "DDB405"),
        ("DDB143", "DDB144"),
        least=0.0625,
        env={"SGLANG_SIMULATE_ACC_LEN": "4"},
    ),
    Case("speculation-off", "line", ("DDB117",)),
    Case(
        "speculation-off-for-some", "line", ("DDB125",), ("DDB103", "DDB143"), least=0.25, dose=0.25
    ),
    Case("baseline-drafts", "plain", ("DDB118",)),
    Case("sampling-ignored", "line", ("DDB306", "DDB418"), ("DDB401",), load="warm", also="four"),
    # what is committed
    Case(
        "contiguous-prefix",
        "tree",
        ("DDB101", "DDB105", "DDB120", "DDB144", "DDB145", "DDB407", "DDB408"),
        ("DDB102", "DDB409"),
        least=0.0625,
        beside=("plain", "line", "small", "large"),
    ),
    Case(
        "bonus-lost",
        "tree",
        ("DDB105", "DDB120", "DDB144", "DDB145"),
        ("DDB101",),
        least=0.0625,
    ),
    Case("eos-not-cut", "line", ("DDB127",), ("DDB126", "DDB405"), least=0.25),
    Case(
        "length-not-cut",
        "line",
        ("DDB126",),
        ("DDB405",),
        least=0.25,
        load="short",
        beside=("plain",),
    ),
    # what is written
    Case("prompt-prefixed", "line", ("DDB403",), ("DDB405",), least=0.0625, load="more"),
    Case(
        "repetition-loop",
        "line",
        ("DDB109", "DDB405", "DDB501", "DDB502"),
        ("DDB152",),
        least=0.0625,
        load="more",
    ),
    Case(
        "one-token",
        "line",
        ("DDB109", "DDB405", "DDB501", "DDB502", "DDB503"),
        ("DDB152",),
        least=0.0625,
        load="more",
    ),
    Case("text-garbled", "line", ("DDB504",), least=0.0625),
    Case("requests-aborted", "line", ("DDB209",), least=0.0625, answers=True),
    # what is counted
    Case("depth-counts-root", "tree", ("DDB101",)),
    Case("commit-lacks-bonus", "tree", ("DDB101", "DDB102")),
    Case(
        "accept-len-lacks-bonus",
        "tree",
        ("DDB102", "DDB103", "DDB105"),
        ("DDB104", "DDB106", "DDB115"),
        least=0.0625,
    ),
    Case("rate-counts-bonus", "line", ("DDB106",), ("DDB105",), least=0.0625),
    Case("rate-of-other-width", "line", ("DDB105",), least=0.0625),
    Case("nodes-count-root", "tree", ("DDB119",), least=0.0625),
    Case("step-counted-twice", "line", ("DDB120", "DDB153"), ("DDB103", "DDB409"), least=0.0625),
    Case(
        "steps-count-tokens",
        "line",
        ("DDB120", "DDB123", "DDB124", "DDB153"),
        ("DDB103",),
        least=0.0625,
    ),
    Case("histogram-shifted", "line", ("DDB123",), ("DDB122",), least=0.0625),
    Case("stated-ratio-partial", "line", ("DDB121",), least=0.0625, answers=True),
    Case("verify-counter-doubled", "line", ("DDB114",), least=0.25),
    Case("token-counter-uncut", "line", ("DDB116",), least=0.0625, load="more"),
    Case("flush-keeps-tokens", "line", ("DDB115",), least=0.25),
    Case("node-depths-count-root", "tree", ("DDB141", "DDB147"), least=0.0625),
    Case("version-withheld", "line", ("DDB308",)),
    # how it runs
    Case("graph-flag-off", "line", ("DDB203",), ("DDB402",), least=0.25, dose=0.5),
    Case("running-limit-lowered", "line", ("DDB204", "DDB205", "DDB305"), ("DDB402",)),
    Case("slots-leak", "line", ("DDB128",), least=0.0625),
    Case(
        "pauses-hidden", "plain", ("DDB201", "DDB202"), load="slow", beside=("plain",), timed=True
    ),
    Case(
        "steps-stall",
        "line",
        ("DDB413", "DDB419"),
        load="stall",
        beside=("plain", "tree"),
        timed=True,
    ),
    Case(
        "slow-alone",
        "line",
        ("DDB414",),
        ("DDB413", "DDB419"),
        load="one-or-four",
        beside=("plain",),
        timed=True,
    ),
)


@dataclass
class Measured:
    """What the sweeps left behind: evidence by (load, arm), and each arm's own log."""

    runs: dict[tuple[str, str], list[Evidence]]
    logs: dict[tuple[str, str], list[Evidence]]
    answers: dict[str, list[Evidence]]

    def codes(self, case: Case, dose: float) -> set[str]:
        """Rules that fire on the faulty arm beside healthy ones, notes on short runs left out."""
        key = case.key(dose)
        if case.answers:
            return codes(check(self.answers[key]).findings, case)
        mine = self.runs[case.load, key] + (self.runs[case.also, key] if case.also else [])
        healthy = [e for kind in case.beside for e in self.runs[case.load, f"healthy-{kind}"]]
        found = list(check([*healthy, *mine]).findings)
        for evidence in self.logs[case.load, key]:
            found += [f for f in check_one(evidence) if isinstance(f, Finding)]
        return codes(found, case)


def codes(findings: Iterable[Finding], case: Case | None = None) -> set[str]:
    ignored = OF_SHORT_RUNS if case is not None and case.timed else OF_SHORT_RUNS | BETWEEN_TIMES
    return {finding.code for finding in findings} - ignored


def sweep_text(name: str, load: Load, arms: Mapping[str, str]) -> str:
    lines = [f"  - {key}: {{{settings}}}" for key, settings in arms.items()]
    return (
        f"name: {name}\n"
        "server:\n"
        "  engine: embedded\n"
        "  model: builtin\n"
        "  draft_model: builtin\n"
        "  ready_timeout_s: 300\n"
        "arms:\n" + "\n".join(lines) + "\n"
        "load:\n"
        "  prompts: builtin:mixed\n"
        f"  count: {load.count}\n"
        f"  concurrency: {list(load.concurrency)}\n"
        f"  max_new_tokens: {load.max_new_tokens}\n"
        f"  temperature: {load.temperature}\n"
        "  logprobs: true\n"
        f"repeats: {load.repeats}\n"
    )


def arms_of(name: str, cases: Iterable[Case], traces: Path) -> dict[str, str]:
    """Healthy arms by their kind, faulty ones by fault and dose; all write step traces."""

    load = LOADS[name]

    def settings(key: str, kind: str, fault: str, env: Mapping[str, str]) -> str:
        flags = f"decode-log-interval: {load.interval}, step-trace: {traces / key}.jsonl{fault}"
        return f"{ARMS[kind]}, flags: {{{flags}}}, env: {json.dumps(dict(env))}"

    arms = {f"healthy-{kind}": settings(f"healthy-{kind}", kind, "", {}) for kind in load.healthy}
    for case in cases:
        if case.answers or name not in (case.load, case.also):
            continue
        for dose in case.doses:
            fault = f', fault: "{case.fault}:{dose * case.dose:g}"'
            arms[case.key(dose)] = settings(case.key(dose), case.arm, fault, case.env)
    return arms


@dataclass(frozen=True)
class Job:
    """Some arms under one load: one sweep file."""

    load: str
    part: int
    arms: Mapping[str, str]


def jobs(cases: Sequence[Case], names: Iterable[str], folder: Path) -> list[Job]:
    found = []
    for name in names:
        (traces := folder / f"{name}-traces").mkdir()
        arms = list(arms_of(name, cases, traces).items())
        found += [
            Job(name, part, dict(arms[start : start + ARMS_A_SWEEP]))
            for part, start in enumerate(range(0, len(arms), ARMS_A_SWEEP))
        ]
    return found


def sweep(job: Job, folder: Path) -> Path:
    """Run one sweep as a user would; returns its run folder."""
    file, run = folder / f"{job.load}-{job.part}.yaml", folder / f"{job.load}-{job.part}"
    file.write_text(sweep_text(job.load, LOADS[job.load], job.arms))
    argv = ["-c", "from ddbench.cli.main import main; main()", "sweep", str(file), "--out"]
    done = subprocess.run(
        [sys.executable, *argv, str(run)],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return run


def answers_with(case: Case, dose: float, folder: Path) -> list[Evidence]:
    """Whole answers of a faulty server, saved as a user would save them, and read back."""
    log_path = folder / f"{case.key(dose)}.log"
    argv = ["-m", "ddbench.engine", "--model-path", "builtin", "--port", "0"]
    argv += ["--speculative-algorithm", "DFLASH", "--speculative-draft-model-path", "builtin"]
    with log_path.open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, *argv, "--fault", f"{case.fault}:{dose * case.dose:g}"],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        url = _url(server, log_path)
        body = {
            "text": [prompt.text for prompt in read_prompts("builtin:mixed", 64)],
            "sampling_params": {"max_new_tokens": 24, "temperature": 0},
        }
        saved = folder / f"{case.key(dose)}.json"
        saved.write_bytes(requests.post(f"{url}/generate", json=body, timeout=300).content)
    finally:
        server.kill()
        server.wait()
    return list(read_evidence(saved, Reading()))


def _url(server: "subprocess.Popen[bytes]", log_path: Path) -> str:
    for _ in range(3000):
        said = log_path.read_text()
        if "ready to roll" in said and (found := re.search(r"Listening on (\S+)", said)):
            return found[1]
        assert server.poll() is None, said
        time.sleep(0.1)
    pytest.fail("the server did not start")


def measure(cases: Sequence[Case], loads: set[str], folder: Path) -> Measured:
    """Two sweeps at a time; those that are about time run alone, last."""
    timed = {case.load for case in CASES if case.timed}
    together = jobs(cases, sorted(loads - timed), folder)
    alone = jobs(cases, sorted(loads & timed), folder)
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda job: (job.load, sweep(job, folder)), together))
    runs += [(job.load, sweep(job, folder)) for job in alone]
    measured = Measured({}, {}, {})
    for name, run in runs:
        for evidence in read_evidence(run, Reading()):
            key = evidence.arm or evidence.subject.removeprefix("step trace ").removesuffix(
                ".jsonl"
            )
            measured.runs.setdefault((name, key), []).append(evidence)
        for log in run.glob("*.log"):  # named after its arm, with a number
            key = log.stem.rpartition("-")[0]
            measured.logs[name, key] = list(read_evidence(log, Reading()))
    for case in cases:
        if case.answers:
            for dose in case.doses:
                measured.answers[case.key(dose)] = answers_with(case, dose, folder)
    return measured


@pytest.fixture(scope="module")
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """What the tests that were selected need: `-k mask-dropped` is a minute, all are several."""
    asked = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    named = {params["case"].fault for params in asked if "case" in params}
    cases = [case for case in CASES if case.fault in named]
    loads = {params["load"] for params in asked if "load" in params}
    for case in cases:
        loads |= {case.load, case.also} - {""}
    found = measure(cases, loads, tmp_path_factory.mktemp("faults"))
    if os.environ.get("DDBENCH_FAULT_MATRIX") == "write":
        assert len(cases) == len(CASES), "the matrix is of all faults"
        write_matrix(found)
    return found


def write_matrix(measured: Measured) -> None:
    """What each fault made fire, for the index of the rules."""
    rows = [
        {
            "fault": case.fault,
            "effect": effect_of(Fault(case.fault)),
            "arm": case.arm,
            "must": case.must,
            "may": case.may,
            "found": sorted(measured.codes(case, 1.0)),
            "least_dose": case.least * case.dose,
            "found_at_least": sorted(measured.codes(case, case.least)),
        }
        for case in CASES
    ]
    MATRIX.write_bytes(orjson.dumps(rows, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def test_every_fault_has_a_case():
    assert sorted(case.fault for case in CASES) == sorted(Fault)
    assert all(len(case.may) <= 3 for case in CASES)


@pytest.mark.parametrize("load", LOADS)
def test_healthy_servers_are_silent(measured: Measured, load: str):
    arms = [f"healthy-{kind}" for kind in LOADS[load].healthy]
    found = list(check([e for arm in arms for e in measured.runs[load, arm]]).findings)
    for arm in arms:
        for evidence in measured.logs[load, arm]:
            found += [f for f in check_one(evidence) if isinstance(f, Finding)]

    assert [finding for finding in found if finding.severity is not Severity.INFO] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.fault)
def test_a_fault_is_found_by_the_rules_that_must_and_few_others(measured: Measured, case: Case):
    found = measured.codes(case, 1.0)

    assert set(case.must) - found == set(), "silent"
    assert found - set(case.must) - set(case.may) == set(), "fired besides"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.fault)
def test_a_fault_is_found_at_its_smallest_dose(measured: Measured, case: Case):
    found = measured.codes(case, case.least)

    print(f"{case.fault}: dose {case.least * case.dose:g}, found by {', '.join(sorted(found))}")
    assert found & {*case.must, *case.may}, "silent"
    assert found - set(case.must) - set(case.may) == set(), "fired besides"
