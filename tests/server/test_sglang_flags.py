"""The parser is real SGLang's; a tiny stand-in program tests what happens when there is none."""

import os
import sys
from pathlib import Path

import pytest

from ddbench.errors import ServerError
from ddbench.server.sglang_flags import known_flags, unknown_flags

needs_sglang = pytest.mark.skipif(
    not os.environ.get("DDBENCH_SGLANG_PYTHON"),
    reason="$DDBENCH_SGLANG_PYTHON is not set: no real SGLang to test with",
)


def fake_sglang(folder: Path, options: str) -> dict[str, str]:
    """A package named sglang whose parser knows `options`; the environment that finds it."""
    package = folder / "sglang" / "srt"
    package.mkdir(parents=True)
    (package / "server_args.py").write_text(
        "class ServerArgs:\n"
        "    @staticmethod\n"
        "    def add_cli_args(parser):\n"
        f"        for name in {options.split()!r}:\n"
        "            parser.add_argument(name)\n"
        "print('a warning on stdout')\n"
    )
    return {"PYTHONPATH": str(folder)}


def test_names_the_unknown_flags_once_and_in_order(tmp_path: Path) -> None:
    env = fake_sglang(tmp_path, "--tp-size --model-path")
    argv = ["--frobnicate", "2", "--tp-size", "-1", "--model-path=x", "--bogus", "--frobnicate"]

    assert unknown_flags(sys.executable, argv, env=env) == ["--frobnicate", "--bogus"]


def test_an_abbreviation_is_known_while_it_is_unambiguous(tmp_path: Path) -> None:
    env = fake_sglang(tmp_path, "--model-path --model-impl --port")

    assert unknown_flags(sys.executable, ["--por", "1", "--model", "x"], env=env) == ["--model"]


def test_an_interpreter_without_sglang_is_an_error_that_says_so(tmp_path: Path) -> None:
    env = {"PYTHONPATH": str(tmp_path / "nothing")}

    with pytest.raises(ServerError, match="No module named 'sglang'"):
        unknown_flags(sys.executable, ["--x"], env=env)


def test_an_interpreter_that_does_not_exist_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="no-such-python"):
        unknown_flags(str(tmp_path / "no-such-python"), ["--x"])


def test_a_parser_that_hangs_is_given_up(tmp_path: Path) -> None:
    package = tmp_path / "sglang"
    package.mkdir()
    (package / "__init__.py").write_text("import time\ntime.sleep(60)\n")

    with pytest.raises(ServerError, match="within 1 s"):
        unknown_flags(sys.executable, ["--x"], env={"PYTHONPATH": str(tmp_path)}, timeout_s=1.0)


@pytest.mark.sglang
@needs_sglang
def test_real_sglang_knows_its_flags_and_no_others() -> None:
    python = os.environ["DDBENCH_SGLANG_PYTHON"]
    argv = ["--tp-size", "8", "--speculative-dflash-block-size", "8", "--speculative-frobnicate"]

    assert unknown_flags(python, argv) == ["--speculative-frobnicate"]
    assert len(known_flags(python)) > 400
