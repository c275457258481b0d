"""The same weights, prompts and settings through ddbench's engine and through real SGLang.

Both in float32. The engine's own tests hold it against ddbench.reference, so agreement here says
that SGLang, with our attention and our stand-in, computes what the reference does. Two controls
break SGLang on purpose and must be noticed. Starts five SGLang servers, one after the other.
"""

from collections import defaultdict
from pathlib import Path

import pytest

from ddbench.conformance.answers import answers
from ddbench.conformance.differential import LOGPROB_TOLERANCE, Differential, differential
from ddbench.load.prompts import read_prompts
from ddbench.records import (
    Flags,
    LoadConfig,
    Prompt,
    RequestCompleted,
    ServerConfig,
    Speculation,
)

pytestmark = [pytest.mark.sglang, pytest.mark.timeout(900)]  # a start: 30 s, minutes under load

AUTOREGRESSIVE = Speculation()
DFLASH = Speculation("DFLASH")
NGRAM = Speculation("NGRAM")

GREEDY = LoadConfig(
    prompts="builtin:mixed", count=16, concurrency=4, max_new_tokens=48, logprobs=True
)
SAMPLED = LoadConfig(
    prompts="one prompt", count=16, concurrency=4, max_new_tokens=12, temperature=1.0
)
PROMPTS = read_prompts(GREEDY.prompts, GREEDY.count)
SAME_PROMPT = [Prompt(f"{PROMPTS[0].prompt_id}-{n}", PROMPTS[0].text) for n in range(SAMPLED.count)]

Answers = tuple[RequestCompleted, ...]


def config(speculation: Speculation, python: str | None) -> ServerConfig:
    """python None: ddbench's own engine. No prefix cache: both sides compute every prompt."""
    flags: Flags = (("device", "cpu"), ("disable-radix-cache", True)) if python else ()
    if speculation is NGRAM:
        flags = (*flags, ("speculative-num-draft-tokens", 8))
    return ServerConfig(
        engine="sglang" if python else "embedded",
        model="builtin",
        draft_model="builtin" if speculation is DFLASH else None,
        speculation=speculation,
        max_running_requests=8,
        flags=flags,
        python=python,
        ready_timeout_s=600.0,
    )


def greedy(config: ServerConfig, log_path: Path, *, fault: str = "") -> Answers:
    (found,) = answers(
        config, [(PROMPTS, GREEDY)], log_path=log_path, env={"DDBENCH_SGLANG_FAULT": fault}
    )
    return found


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def embedded_autoregressive(logs: Path) -> Answers:
    return greedy(config(AUTOREGRESSIVE, None), logs / "embedded-autoregressive.log")


@pytest.fixture(scope="module")
def embedded_dflash(logs: Path) -> tuple[Answers, Answers]:
    """Greedy answers, then sampled ones."""
    first, second = answers(
        config(DFLASH, None),
        [(PROMPTS, GREEDY), (SAME_PROMPT, SAMPLED)],
        log_path=logs / "embedded-dflash.log",
    )
    return first, second


@pytest.fixture(scope="module")
def sglang_autoregressive(sglang_python: str, logs: Path) -> Answers:
    return greedy(config(AUTOREGRESSIVE, sglang_python), logs / "autoregressive.log")


@pytest.fixture(scope="module")
def sglang_dflash(sglang_python: str, logs: Path) -> tuple[Answers, Answers]:
    """Greedy answers, then sampled ones."""
    first, second = answers(
        config(DFLASH, sglang_python),
        [(PROMPTS, GREEDY), (SAME_PROMPT, SAMPLED)],
        log_path=logs / "dflash.log",
    )
    return first, second


def same_text(found: Differential) -> bool:
    """Steps set aside: one side speculates and the other does not, or not alike."""
    return not found.parted and found.max_logprob <= LOGPROB_TOLERANCE


def test_autoregressive_answers_are_the_same(
    embedded_autoregressive: Answers, sglang_autoregressive: Answers
) -> None:
    found = differential(embedded_autoregressive, sglang_autoregressive)

    print(found)
    assert found.conforms(), found


def test_dflash_answers_and_steps_are_the_same(
    embedded_dflash: tuple[Answers, Answers], sglang_dflash: tuple[Answers, Answers]
) -> None:
    found = differential(embedded_dflash[0], sglang_dflash[0])

    print(found)
    assert found.conforms(), found
    assert sum(answer.verify_ct or 0 for answer in sglang_dflash[0]) > len(PROMPTS)


def test_dflash_changes_no_answer_of_sglang(
    sglang_autoregressive: Answers, sglang_dflash: tuple[Answers, Answers]
) -> None:
    found = differential(sglang_autoregressive, sglang_dflash[0])

    assert same_text(found), found


def test_ngram_changes_no_answer_of_sglang(
    sglang_python: str, sglang_autoregressive: Answers, logs: Path
) -> None:
    """Its drafts are trees, with a mask of their own."""
    found = differential(
        sglang_autoregressive, greedy(config(NGRAM, sglang_python), logs / "ngram.log")
    )

    print(found)
    assert same_text(found), found
    assert found.other_steps == len(PROMPTS)  # it did speculate


@pytest.mark.parametrize("fault", ["verify-mask-dropped", "accept-one-too-many"])
def test_a_broken_sglang_is_noticed(
    fault: str,
    sglang_python: str,
    embedded_dflash: tuple[Answers, Answers],
    logs: Path,
) -> None:
    """A control. Were it to pass, the tests above would prove nothing."""
    log_path = logs / f"{fault}.log"

    found = differential(
        embedded_dflash[0], greedy(config(DFLASH, sglang_python), log_path, fault=fault)
    )

    print(fault, found)
    assert f"ddbench planted the fault {fault}" in log_path.read_text()
    assert found.max_logprob > 10 * LOGPROB_TOLERANCE
    assert not found.conforms()


def by_first_token(sampled: Answers) -> dict[int, set[tuple[int, ...]]]:
    """Different continuations after each first token."""
    found = defaultdict(set)
    for answer in sampled:
        assert answer.output_ids is not None
        found[answer.output_ids[0]].add(answer.output_ids)
    return found


def test_sglang_verifies_greedily_on_a_cpu_whatever_the_temperature(
    embedded_dflash: tuple[Answers, Answers], sglang_dflash: tuple[Answers, Answers], logs: Path
) -> None:
    """Where the two differ for a reason.

    SGLang samples the first token, then falls back to argmax, since it has no sampling kernel for
    this device: sglang/srt/speculative/dflash_worker_v2.py lines 2212 and 2315 (0.5.23), with
    dflash_utils.py line 51. One prompt, many times: what follows a first token is always the same.
    ddbench's engine samples every token.
    """
    assert len(SAME_PROMPT) > len(by_first_token(sglang_dflash[1]))
    assert all(len(texts) == 1 for texts in by_first_token(sglang_dflash[1]).values())
    assert "falling back to greedy argmax verification" in (logs / "dflash.log").read_text()
    assert any(len(texts) > 1 for texts in by_first_token(embedded_dflash[1]).values())
