"""What cannot be done is one sentence and a remedy, exit code 2, and nothing is written."""

import socket

import pytest

SWEEP = """\
name: bad
server:
  engine: embedded
  model: builtin
  draft_model: builtin
arms:
  - tree: {block_size: 8, budget: [7], topk: [4]}
load:
  prompts: builtin:mixed
  count: 4
  concurrency: [1]
  max_new_tokens: 8
"""


def refused(ddbench, tmp_path, text: str) -> str:
    """The sentence that `ddbench sweep` refuses this sweep file with."""
    sweep = tmp_path / "bad.yaml"
    sweep.write_text(text)
    out = tmp_path / "run"

    done = ddbench("sweep", sweep, "--out", out)

    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert not out.exists()
    error, remedy = done.stderr.rstrip("\n").split("\n")
    assert error.startswith("error: ")
    assert remedy.startswith("  try: ")
    assert remedy.endswith(".")
    return error


@pytest.mark.parametrize(
    ("instead_of", "written", "named"),
    [
        ("  count: 4", "  cuont: 4", "bad.yaml line 10, `load.cuont`"),
        ("concurrency: [1]", "concurrency: []", "bad.yaml line 11, `load.concurrency`"),
        ("budget: [7]", "budget: [0]", "budget"),
        ("budget: [7], topk: [4]", "budget: [8], topk: [1]", "7"),
        ("block_size: 8", "block_size: 16", "block_size"),
        ("builtin:mixed", "no-such-file.jsonl", "no-such-file.jsonl"),
        ("count: 4", "count: 1", "count"),
        ("name: bad", "name: [", "bad.yaml"),
        ("engine: embedded", "engine: embeded", "line 3, `server.engine`"),
    ],
)
def test_a_wrong_sweep_file_is_refused_by_name(ddbench, tmp_path, instead_of, written, named):
    assert instead_of in SWEEP

    assert named in refused(ddbench, tmp_path, SWEEP.replace(instead_of, written))


def test_prompts_that_are_not_utf8_are_refused(ddbench, tmp_path):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_bytes(b'{"prompt": "caf\xe9"}\n' * 8)

    error = refused(ddbench, tmp_path, SWEEP.replace("builtin:mixed", str(prompts)))

    assert "prompts.jsonl" in error
    assert "UTF-8" in error


def test_a_taken_port_is_refused(ddbench, tmp_path):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]

        error = refused(
            ddbench,
            tmp_path,
            SWEEP.replace("model: builtin\n", f"model: builtin\n  port: {port}\n", 1),
        )

    assert str(port) in error


def test_a_folder_with_other_files_is_left_alone(ddbench, tmp_path):
    sweep = tmp_path / "good.yaml"
    sweep.write_text(SWEEP)
    out = tmp_path / "mine"
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")

    done = ddbench("sweep", sweep, "--out", out)

    assert done.returncode == 2
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]


def test_a_folder_that_is_no_run_cannot_be_exported_or_reported(ddbench, tmp_path):
    for command in (["export", tmp_path, "--format", "jsonl"], ["report", "markdown", tmp_path]):
        done = ddbench(*command)

        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert "try: " in done.stderr


def test_sweep_needs_a_file_or_a_run(ddbench):
    done = ddbench("sweep")

    assert done.returncode == 2
    assert "SWEEP.yaml" in done.stderr


def test_serve_lists_the_arms_and_names_them_when_one_is_unknown(ddbench, tmp_path):
    sweep = tmp_path / "good.yaml"
    sweep.write_text(SWEEP)

    assert ddbench("serve", sweep).stdout == "tree-8-7-4\n"
    done = ddbench("serve", sweep, "--arm", "tree")

    assert done.returncode == 2
    assert "tree-8-7-4" in done.stderr
