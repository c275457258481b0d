"""Which command lines the engine takes, and what they resolve to."""

import pytest

from ddbench.engine.arguments import parse_arguments
from ddbench.engine.checkpoint import drafter_config, model_folder, target_config
from ddbench.engine.settings import DraftSettings, EngineSettings, largest_tree, resolve_settings
from ddbench.errors import EngineError

DFLASH = ["--speculative-algorithm", "DFLASH", "--speculative-draft-model-path", "builtin"]
DDTREE = ["--speculative-algorithm", "DDTREE", "--speculative-draft-model-path", "builtin"]


def resolve(*flags: str) -> EngineSettings:
    arguments = parse_arguments(["--model-path", "builtin", *flags])
    drafter = None if arguments.algorithm is None else model_folder("builtin", "drafter")
    return resolve_settings(
        arguments,
        target_config(model_folder("builtin")),
        None if drafter is None else drafter_config(drafter),
    )


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--speculative-algorithm", "EAGLE"], "invalid choice: 'EAGLE'"),
        (["--tp-size", "2"], "invalid choice: 2"),
        (["--dtype", "bfloat16"], "invalid choice: 'bfloat16'"),
        (["--max-running-requests", "0"], "0 is below 1"),
        (["--port", "65536"], "is not a port"),
        (["--speculative-algorithm", "DFLASH"], "needs --speculative-draft-model-path"),
        (["--speculative-draft-model-path", "x"], "needs --speculative-algorithm"),
        (["--speculative-ddtree-budget", "7"], "needs --speculative-algorithm DDTREE"),
        ([*DFLASH, "--speculative-ddtree-topk", "4"], "needs --speculative-algorithm DDTREE"),
        (["--max-running", "4"], "unrecognized arguments: --max-running 4"),
        (["--fault", "gremlins"], "invalid choice: 'gremlins'"),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_a_command_line_that_says_something_impossible_is_refused(flags, sentence, capsys):
    with pytest.raises(SystemExit) as ended:
        parse_arguments(["--model-path", "builtin", *flags])

    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "sentence", "remedy"),
    [
        ([*DFLASH, "--speculative-num-draft-tokens", "5"], "block size 5 was asked for", "Give 8"),
        ([*DDTREE, "--speculative-dflash-block-size", "16"], "block size 16 was", "Give 8"),
        (
            [
                *DFLASH, "--speculative-num-draft-tokens", "8",
                "--speculative-dflash-block-size", "7",
            ],
            "differ",
            "Give one of them",
        ),
        (
            [*DDTREE, "--speculative-ddtree-budget", "8", "--speculative-ddtree-topk", "1"],
            "a tree of 8 nodes cannot be filled with topk 1",
            "Give a budget of at most 7",
        ),
        (
            [*DDTREE, "--speculative-ddtree-budget", "7", "--speculative-num-draft-tokens", "7"],
            "is not the verify width of a tree of 7 nodes",
            "give 8",
        ),
        ([*DDTREE, "--speculative-ddtree-topk", "100000"], "topk 100000 is more", "smaller"),
        (["--context-length", "1000000"], "--context-length 1000000 is more", "Give at most"),
    ],
    ids=lambda value: str(value)[-40:],
)  # fmt: skip
def test_settings_that_the_weights_cannot_run_with_are_refused(flags, sentence, remedy):
    with pytest.raises(EngineError) as refused:
        resolve(*flags)

    assert sentence in str(refused.value)
    assert remedy in refused.value.remedy


def test_a_block_never_reaches_past_the_positions_of_the_model():
    positions = target_config(model_folder("builtin")).max_positions

    assert resolve().context_length == positions
    assert resolve(*DFLASH).context_length == positions - 8


def test_drafting_is_resolved_from_the_drafter():
    assert resolve().verify_width == 1
    assert resolve(*DFLASH).draft == DraftSettings("DFLASH", 8, None, None)
    assert resolve(*DFLASH).verify_width == 8
    assert resolve(*DDTREE).draft == DraftSettings("DDTREE", 8, 7, 4)
    wide = resolve(*DDTREE, "--speculative-ddtree-budget", "31", "--speculative-ddtree-topk", "2")
    assert wide.draft == DraftSettings("DDTREE", 8, 31, 2)
    assert wide.verify_width == 32


@pytest.mark.parametrize(("topk", "depth", "nodes"), [(1, 7, 7), (2, 3, 14), (4, 2, 20)])
def test_the_largest_tree_is_counted_without_its_root(topk, depth, nodes):
    assert largest_tree(topk, depth) == nodes
