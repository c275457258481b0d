"""The tiny pair through a build of SGLang, held against the reference: check by check.

autoregressive == the reference; linear == autoregressive, and its steps == the reference's;
a tree likewise; and a tree of one branch (a chain) takes the very steps of linear drafting.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ddbench.conformance.answers import ask, started_server
from ddbench.conformance.cases import AUTOREGRESSIVE, CONCURRENCIES, LINEAR, Case
from ddbench.conformance.differential import LOGPROB_TOLERANCE
from ddbench.conformance.reference import (
    Answers,
    Reference,
    ask_reference,
    conformance_prompts,
    load_at,
)
from ddbench.conformance.verdict import (
    Check,
    depth_identity,
    identities,
    same_steps,
    same_text,
)
from ddbench.errors import NotComparable, ServerError, ServerSurvived
from ddbench.logs.excerpt import read_excerpt
from ddbench.patching.launch import with_patches
from ddbench.plan.argv import server_command
from ddbench.records import Flags, ServerConfig, Speculation
from ddbench.server.running import require_program


@dataclass(frozen=True, slots=True)
class Build:
    """The SGLang under test. flags: of every server, on top of what each case needs."""

    python: str
    patches: str | None = None
    flags: Flags = ()
    env: dict[str, str] = field(default_factory=dict)
    tolerance: float = LOGPROB_TOLERANCE


def conform(build: Build, cases: Sequence[Case], logs: Path) -> Iterator[Check]:
    """Every check as it ends. A server that does not start or answer fails its own checks.

    Raises ServerError when even the first server does not work: that says nothing about drafting;
    PatchError when the patches do not fit.
    """
    first = _config(build, cases[0])
    command = server_command(first, port=0)
    require_program(command)
    with_patches(command, first)  # refuses what does not fit before the reference takes its time
    reference = ask_reference(cases, logs)
    measured: dict[Speculation, dict[int, Answers]] = {}
    for case in cases:
        try:
            found, log_path = _ask(build, case, logs)
        except ServerSurvived:
            raise
        except ServerError as error:
            if not measured:
                raise
            yield Check(case.name, "the server starts and answers", False, str(error))
            continue
        measured.setdefault(case.speculation, found)
        try:
            yield from _checks(build, case, found, measured, reference)
        except NotComparable as error:
            yield Check(case.name, "answers can be compared", False, str(error))
        if case.speculation.budget is not None:
            yield depth_identity(
                case.name,
                read_excerpt(log_path, 0, None).decode,
                requests=sum(map(len, found.values())),
                depth=case.speculation.draft_depth or 0,
                budget=case.speculation.budget,
            )


def _config(build: Build, case: Case) -> ServerConfig:
    return case.config(build.python, patches=build.patches, flags=build.flags)


def _ask(build: Build, case: Case, logs: Path) -> tuple[dict[int, Answers], Path]:
    """The answers at each concurrency, and the server's log."""
    config = _config(build, case)
    log_path = logs / f"{case.name}.log"
    prompts = conformance_prompts()
    with started_server(config, log_path=log_path, env=build.env) as server:
        return {n: ask(server, prompts, load_at(n)) for n in CONCURRENCIES}, log_path


def _checks(
    build: Build,
    case: Case,
    found: dict[int, Answers],
    measured: dict[Speculation, dict[int, Answers]],
    reference: Reference,
) -> Iterator[Check]:
    for concurrency, answers in found.items():
        at = f"at concurrency {concurrency}"
        plain, whose = reference.autoregressive, "the reference"
        if case.speculation.algorithm is not None and AUTOREGRESSIVE in measured:
            plain, whose = measured[AUTOREGRESSIVE][concurrency], "autoregressive"
        text = same_text(
            case.name,
            f"tokens and log-probabilities == {whose}, {at}",
            plain,
            answers,
            runners_up=reference.runners_up,
            tolerance=build.tolerance,
        )
        yield text.check
        if case.speculation.algorithm is None:
            continue
        what = f"verify_ct and histogram == the reference, {at}"
        expected = reference.answers[case.speculation]
        yield same_steps(case.name, what, expected, answers, besides=text.ties)
        if case.speculation.topk == 1 and LINEAR in measured:
            what = f"verify_ct and histogram == linear, {at}"
            linear = measured[LINEAR][concurrency]
            yield same_steps(case.name, what, linear, answers, besides=text.ties)
        what = f"verify_ct, histogram and tokens add up, {at}"
        yield identities(case.name, what, answers, depth=case.speculation.draft_depth or 0)
