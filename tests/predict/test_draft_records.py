import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ddbench.draft_records import DraftRecorder, read_recording
from ddbench.errors import RunError

DEPTH, TOPK = 3, 2


def record(path: Path, steps: list[tuple[str, int, int, int]]) -> list[int]:
    """Write (rid, position, root, choice) steps; returns the size of the file after each."""
    recorder = DraftRecorder(path, depth=DEPTH, topk=TOPK)
    sizes = []
    for number, (rid, position, root, choice) in enumerate(steps):
        recorder.write(
            rid=rid,
            prompt_len=5,
            position=position,
            root=root,
            choice=choice,
            token_ids=np.arange(DEPTH * TOPK).reshape(DEPTH, TOPK) + 100 * number,
            log_probs=-np.arange(DEPTH * TOPK).reshape(DEPTH, TOPK) / 7 - number,
        )
        recorder.flush()
        sizes.append(path.stat().st_size)
    recorder.close()
    return sizes


STEPS = [("a", 0, 1, 2), ("b", 0, 8, 9), ("a", 1, 2, 3), ("b", 1, 9, 10), ("a", 2, 3, 4)]


def test_reads_what_was_written_of_requests_that_ran_together(tmp_path: Path) -> None:
    record(tmp_path / "x.drafts", STEPS)

    recording = read_recording(tmp_path / "x.drafts")

    assert (recording.depth, recording.topk, recording.notes) == (DEPTH, TOPK, ())
    first, second = recording.answers
    assert (first.rid, first.prompt_len, first.output_ids) == ("a", 5, [1, 2, 3, 4])
    assert (second.rid, second.output_ids) == ("b", [8, 9, 10])
    token_ids, log_probs = recording.drafts(first)
    assert token_ids[:, 0, 0].tolist() == [0, 200, 400]
    assert log_probs.dtype == np.float32
    assert log_probs[2, 1, 1] == np.float32(-3 / 7 - 4)


def test_an_id_that_is_used_again_begins_another_answer(tmp_path: Path) -> None:
    record(tmp_path / "x.drafts", [("a", 0, 1, 2), ("a", 1, 2, 3), ("a", 0, 1, 2)])

    answers = read_recording(tmp_path / "x.drafts").answers

    assert [answer.positions for answer in answers] == [2, 1]


def test_a_file_cut_at_any_byte_keeps_the_frames_before_and_says_what_is_gone(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x.drafts"
    sizes = record(path, STEPS)
    whole = path.read_bytes()
    header = sizes[0] - (sizes[2] - sizes[1])

    for size in range(header, len(whole) + 1):
        path.write_bytes(whole[:size])
        recording = read_recording(path)
        kept = sum(end <= size for end in sizes)
        assert sum(answer.positions for answer in recording.answers) == kept
        assert bool(recording.notes) == (size not in (header, *sizes))


def test_a_damaged_byte_ends_the_recording_there(tmp_path: Path) -> None:
    path = tmp_path / "x.drafts"
    sizes = record(path, STEPS)
    content = bytearray(path.read_bytes())
    content[sizes[1] + 40] ^= 1
    path.write_bytes(content)

    recording = read_recording(path)

    assert sum(answer.positions for answer in recording.answers) == 2
    assert recording.notes == (
        f"x.drafts: the last {sizes[-1] - sizes[1]} bytes are an unfinished or damaged frame, "
        "and were left out.",
    )


def test_a_killed_writer_loses_at_most_what_it_did_not_flush(tmp_path: Path) -> None:
    path = tmp_path / "x.drafts"
    code = (
        "import os, signal, sys, numpy as np\n"
        "from pathlib import Path\n"
        "from ddbench.draft_records import DraftRecorder\n"
        "recorder = DraftRecorder(Path(sys.argv[1]), depth=7, topk=16)\n"
        "for n in range(400):\n"
        "    recorder.write(rid='a', prompt_len=1, position=n, root=n, choice=n + 1,\n"
        "        token_ids=np.zeros((7, 16), int), log_probs=np.zeros((7, 16)))\n"
        "    if n == 300:\n"
        "        recorder.flush()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )

    died = subprocess.run([sys.executable, "-c", code, os.fspath(path)])

    assert died.returncode == -signal.SIGKILL
    (answer,) = read_recording(path).answers
    assert answer.output_ids == list(range(answer.positions + 1))
    assert answer.positions > 300


def test_positions_that_do_not_follow_on_are_left_out_and_counted(tmp_path: Path) -> None:
    record(tmp_path / "x.drafts", [("a", 0, 1, 2), ("a", 2, 3, 4), ("a", 1, 7, 8), ("b", 1, 1, 1)])

    recording = read_recording(tmp_path / "x.drafts")

    assert [answer.output_ids for answer in recording.answers] == [[1, 2]]
    assert recording.notes == ("x.drafts: 3 positions do not follow on from the one before.",)


@pytest.mark.parametrize("content", [b"", b"ddbdraft", b"SQLite format 3\0 and so on"])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.drafts").write_bytes(content)

    with pytest.raises(RunError, match="no recording of drafts"):
        read_recording(tmp_path / "x.drafts")


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    record(tmp_path / "x.drafts", [])
    content = bytearray((tmp_path / "x.drafts").read_bytes())
    content[8] = 2
    (tmp_path / "x.drafts").write_bytes(content)

    with pytest.raises(RunError, match="version 2"):
        read_recording(tmp_path / "x.drafts")


def test_nothing_is_recorded_over(tmp_path: Path) -> None:
    record(tmp_path / "x.drafts", [])

    with pytest.raises(FileExistsError):
        DraftRecorder(tmp_path / "x.drafts", depth=DEPTH, topk=TOPK)
