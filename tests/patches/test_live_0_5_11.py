"""Real SGLang 0.5.11, patched, on a CPU, against itself and against the embedded engine.

About one minute a server: autoregressive, DFLASH and DDTREE at five settings.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ddbench.conformance.differential import LOGPROB_TOLERANCE, differential
from ddbench.load.closed_loop import run_closed_loop
from ddbench.load.prompts import read_prompts
from ddbench.logs.excerpt import read_excerpt
from ddbench.patching.launch import with_patches
from ddbench.plan.argv import server_command
from ddbench.records import LoadConfig, RequestCompleted, ServerConfig, Speculation
from ddbench.server.ports import free_port
from ddbench.server.running import running_server

pytestmark = [pytest.mark.slow, pytest.mark.sglang, pytest.mark.timeout(900)]

CONCURRENCIES = (1, 4)
LINEAR = Speculation("DFLASH", 8)
CHAIN = Speculation("DDTREE", 8, 7, 1)
TREES = tuple(Speculation("DDTREE", 8, budget, 4) for budget in (7, 15, 31))
PROMPTS = 12
TOKENS = 48


@dataclass(frozen=True, slots=True)
class Answers:
    by_concurrency: tuple[tuple[RequestCompleted, ...], ...]
    log: Path

    @property
    def all(self) -> tuple[RequestCompleted, ...]:
        return tuple(answer for answers in self.by_concurrency for answer in answers)


Ask = Callable[[Speculation], Answers]


def ask(
    config: ServerConfig, log: Path, *, logprobs: bool = True, env: Sequence[tuple[str, str]] = ()
) -> Answers:
    """Both loads to one server of this config."""
    config = replace(config, flags=(*config.flags, ("decode-log-interval", 4)), env=tuple(env))
    port = free_port(config.host)
    command = with_patches(server_command(config, port=port), config)
    prompts = read_prompts("builtin:mixed", PROMPTS)
    found = []
    with running_server(
        command,
        host=config.host,
        port=port,
        log_path=log,
        expected_model=command.model_path,
        ready_timeout_s=config.ready_timeout_s,
    ) as server:
        for concurrency in CONCURRENCIES:
            load = LoadConfig("builtin:mixed", PROMPTS, concurrency, TOKENS, logprobs=logprobs)
            outcome = run_closed_loop(server.base_url, prompts, load)
            assert all(isinstance(r, RequestCompleted) for r in outcome.requests), outcome.requests
            found.append(tuple(r for r in outcome.requests if isinstance(r, RequestCompleted)))
    return Answers(tuple(found), log)


def config_of(speculation: Speculation, **others: object) -> ServerConfig:
    drafts = speculation.algorithm is not None
    return ServerConfig(
        model="builtin",
        draft_model="builtin" if drafts else None,
        speculation=speculation,
        max_running_requests=8,
        **others,  # type: ignore[arg-type]
    )


@pytest.fixture(scope="module")
def sglang(python_0_5_11: Path, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """The answers of patched SGLang 0.5.11, one launch a setting."""
    folder = tmp_path_factory.mktemp("sglang")
    known: dict[Speculation, Answers] = {}

    def answers(speculation: Speculation) -> Answers:
        if speculation not in known:
            config = config_of(
                speculation, engine="sglang", python=str(python_0_5_11), patches="ddtree"
            )
            known[speculation] = ask(
                config,
                folder / f"{len(known)}.log",
                logprobs=speculation.algorithm != "DFLASH",  # which refuses them there
            )
        return known[speculation]

    return answers


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    folder = tmp_path_factory.mktemp("embedded")
    known: dict[Speculation, Answers] = {}

    def answers(speculation: Speculation) -> Answers:
        if speculation not in known:
            config = config_of(speculation, engine="embedded")
            known[speculation] = ask(config, folder / f"{len(known)}.log")
        return known[speculation]

    return answers


def tokens(answers: Answers) -> list[tuple[int, ...] | None]:
    return [answer.output_ids for answer in answers.all]


@pytest.mark.parametrize("speculation", [LINEAR, CHAIN, *TREES], ids=str)
def test_drafting_changes_no_token(sglang: Ask, speculation: Speculation) -> None:
    assert tokens(sglang(speculation)) == tokens(sglang(Speculation()))


@pytest.mark.parametrize("speculation", [CHAIN, *TREES], ids=str)
def test_trees_change_no_logprob_and_take_the_embedded_engines_steps(
    sglang: Ask, embedded: Ask, speculation: Speculation
) -> None:
    """Tokens alone prove little on so small a model; a wrong mask shows in log-probabilities."""
    plain, ours, theirs = sglang(Speculation()), sglang(speculation), embedded(speculation)

    for autoregressive, actual, expected in zip(
        plain.by_concurrency, ours.by_concurrency, theirs.by_concurrency, strict=True
    ):
        assert differential(autoregressive, actual).max_logprob <= LOGPROB_TOLERANCE
        found = differential(expected, actual)
        assert found.conforms(), str(found)


def test_the_chain_takes_dflashs_steps(sglang: Ask) -> None:
    chain, linear = sglang(CHAIN), sglang(LINEAR)

    assert [a.verify_ct for a in chain.all] == [a.verify_ct for a in linear.all]
    assert [a.committed_drafts for a in chain.all] == [a.committed_drafts for a in linear.all]


@pytest.mark.parametrize("speculation", [LINEAR, CHAIN, *TREES], ids=str)
def test_every_token_is_the_prefills_a_steps_bonus_or_a_committed_draft(
    sglang: Ask, speculation: Speculation
) -> None:
    for answer in sglang(speculation).all:
        assert answer.verify_ct is not None
        assert answer.committed_drafts is not None
        assert answer.completion_tokens == (
            1 + (answer.retractions or 0) + answer.verify_ct + answer.committed_drafts
        )


@pytest.mark.parametrize("speculation", [CHAIN, *TREES], ids=str)
def test_the_log_says_depth_commit_and_nodes(sglang: Ask, speculation: Speculation) -> None:
    """Both are printed to two digits; a commit is one more than its depth unless it is cut."""
    windows = read_excerpt(sglang(speculation).log, 0, None).decode

    assert len(windows) > 10
    for window in windows:
        assert window.tree_nodes == speculation.budget
        assert window.accept_len_logged == window.commit_len
        assert window.accepted_depth is not None
        assert window.commit_len is not None
        assert window.commit_len <= window.accepted_depth + 1.011
    uncut = [w for w in windows if w.commit_len == pytest.approx(w.accepted_depth + 1, abs=0.011)]
    assert len(uncut) > len(windows) / 2


def test_a_dropped_mask_shows_in_logprobs(python_0_5_11: Path, sglang: Ask, tmp_path: Path) -> None:
    """The control: without it the comparisons above would prove nothing."""
    config = config_of(TREES[1], engine="sglang", python=str(python_0_5_11), patches="ddtree")

    broken = ask(config, tmp_path / "log", env=[("DDBENCH_SGLANG_FAULT", "verify-mask-dropped")])

    found = differential(sglang(Speculation()).by_concurrency[0], broken.by_concurrency[0])
    assert found.max_logprob > 10 * LOGPROB_TOLERANCE


def test_forced_to_a_chain_a_tree_takes_dflashs_steps(
    python_0_5_11: Path, sglang: Ask, tmp_path: Path
) -> None:
    config = config_of(TREES[1], engine="sglang", python=str(python_0_5_11), patches="ddtree")

    forced = ask(config, tmp_path / "log", env=[("SGLANG_DDTREE_FORCE", "chain")])

    assert [a.verify_ct for a in forced.all] == [a.verify_ct for a in sglang(LINEAR).all]
    assert tokens(forced) == tokens(sglang(Speculation()))
