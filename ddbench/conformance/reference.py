"""What every build must answer: what ddbench's own engine does, with the same weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from ddbench.conformance.answers import ask, started_server
from ddbench.conformance.cases import AUTOREGRESSIVE, CONCURRENCIES, Case
from ddbench.errors import ServerError
from ddbench.load.prompts import read_prompts
from ddbench.records import LoadConfig, Prompt, RequestCompleted, Speculation
from ddbench.tls import direct_session

Answers = tuple[RequestCompleted, ...]

PROMPT_SOURCE, PROMPTS, NEW_TOKENS = "builtin:mixed", 16, 48


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """The second choice at one position of a greedy answer, and how far behind it is (in nats)."""

    token: int
    behind: float


@dataclass(frozen=True, slots=True)
class Reference:
    """answers: of each setting. runners_up: by prompt, a position of its answer each."""

    answers: Mapping[Speculation, Answers]
    runners_up: Mapping[str, tuple[RunnerUp, ...]]

    @property
    def autoregressive(self) -> Answers:
        return self.answers[AUTOREGRESSIVE]


def load_at(concurrency: int) -> LoadConfig:
    return LoadConfig(
        prompts=PROMPT_SOURCE,
        count=PROMPTS,
        concurrency=concurrency,
        max_new_tokens=NEW_TOKENS,
        logprobs=True,
    )


def conformance_prompts() -> list[Prompt]:
    return read_prompts(PROMPT_SOURCE, PROMPTS)


def ask_reference(cases: Sequence[Case], logs: Path) -> Reference:
    """The answers for every setting of `cases`, and always the autoregressive ones."""
    prompts, load = conformance_prompts(), load_at(max(CONCURRENCIES))
    plain = Case("autoregressive", AUTOREGRESSIVE)
    answers: dict[Speculation, Answers] = {}
    runners_up: Mapping[str, tuple[RunnerUp, ...]] = {}
    for case in (plain, *cases):
        if case.speculation in answers:
            continue
        log_path = logs / f"reference-{case.name}.log"
        with started_server(case.config(None), log_path=log_path) as server:
            answers[case.speculation] = ask(server, prompts, load)
            if case is plain:
                runners_up = _runners_up(server.base_url, prompts)
    return Reference(answers, runners_up)


def _runners_up(base_url: str, prompts: Sequence[Prompt]) -> dict[str, tuple[RunnerUp, ...]]:
    body = {
        "text": [prompt.text for prompt in prompts],
        "sampling_params": {"temperature": 0, "max_new_tokens": NEW_TOKENS},
        "return_logprob": True,
        "top_logprobs_num": 2,
    }
    with direct_session() as session:
        try:
            answer = session.post(f"{base_url}/generate", json=body, timeout=300)
            answer.raise_for_status()
        except requests.RequestException as cause:
            raise ServerError(
                f"the reference did not answer: {cause}", remedy="Look at its log."
            ) from cause
    given: list[dict[str, Any]] = answer.json()
    return {
        prompt.prompt_id: tuple(map(_runner_up, one["meta_info"]["output_top_logprobs"]))
        for prompt, one in zip(prompts, given, strict=True)
    }


def _runner_up(best: list[tuple[float, int, None]]) -> RunnerUp:
    (first, _, _), (second, token, _) = best
    return RunnerUp(token, first - second)
