"""Recorded drafts: what a drafter offered at every position of an answer, in one file a server.

A server that records commits one token a step, so that the drafter runs after each of them. Each
frame stands on its own, is appended and never touched again: a writer that was killed leaves at
most one frame torn, which the reader drops and says so.

    header   8 bytes "ddbdraft"; <HHH: version, L, K
    frame    <II: bytes of the payload, CRC-32 of the payload; payload
    payload  <HIIii: bytes of rid, prompt tokens, position, root, choice; rid in UTF-8;
             L*K <i4 token ids, then L*K <f4 log-probabilities, each row best first

Position counts output tokens from 0: `root` is the answer's token there, `choice` the target's next
one. Row i of a frame is the drafter's guess at the token i + 1 places after the root. The
log-probabilities are normalised over the whole vocabulary, and single precision: half would give
other trees. A position takes 8*L*K bytes, 2 kB at block size 16 and K 16.

L is the number of drafted tokens (block size - 1), K the candidates kept at each.
"""

import os
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from ddbench.errors import RunError

MAGIC = b"ddbdraft"
VERSION = 1
SUFFIX = ".drafts"
DEFAULT_TOPK = 16

_ONCE = re.compile("[0-9a-f]{12}:")

_HEADER = struct.Struct("<HHH")
_FRAME = struct.Struct("<II")
_PAYLOAD = struct.Struct("<HIIii")


def request_id(prompt_id: str) -> str:
    """An id for one request of that prompt; no other request has it, nor one that begins so.

    SGLang ends, two seconds after an answer, whatever then runs under an id with that beginning.
    """
    return f"{uuid4().hex[:12]}:{prompt_id}"


def prompt_of(rid: str) -> str:
    """The prompt's id in a request's."""
    return rid[13:] if _ONCE.match(rid) else rid


Ids = NDArray[np.int32]
LogProbs = NDArray[np.float32]


class DraftRecorder:
    """The only writer of one file, which must not exist yet."""

    def __init__(self, path: Path, *, depth: int, topk: int) -> None:
        self._file = path.open("xb")
        self._file.write(MAGIC + _HEADER.pack(VERSION, depth, topk))
        self.topk = topk
        self._shape = (depth, topk)
        self.flush()

    def write(
        self,
        *,
        rid: str,
        prompt_len: int,
        position: int,
        root: int,
        choice: int,
        token_ids: NDArray[np.integer],
        log_probs: NDArray[np.floating],
    ) -> None:
        """One position. Both arrays are (L, K), best first; buffered until `flush`."""
        if token_ids.shape != self._shape or log_probs.shape != self._shape:
            raise ValueError(f"{token_ids.shape} and {log_probs.shape}: want {self._shape}")
        name = rid.encode()
        payload = b"".join(
            (
                _PAYLOAD.pack(len(name), prompt_len, position, root, choice),
                name,
                token_ids.astype("<i4").tobytes(),
                log_probs.astype("<f4").tobytes(),
            )
        )
        self._file.write(_FRAME.pack(len(payload), zlib.crc32(payload)) + payload)

    def flush(self) -> None:
        """Hand everything to the system; from then on the death of this process loses nothing."""
        self._file.flush()

    def close(self) -> None:
        self._file.close()


@dataclass(slots=True, eq=False)
class RecordedAnswer:
    """One answer in a recording: its tokens, and where each position's drafts lie in the file."""

    rid: str
    prompt_len: int
    output_ids: list[int]  # the root of each position, then the last choice
    offsets: list[int] = field(repr=False)  # of the (L, K) ids, one a position

    @property
    def positions(self) -> int:
        return len(self.offsets)


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """A file of recorded drafts, indexed; the drafts themselves are read an answer at a time.

    notes say what was left out, one sentence each.
    """

    path: Path
    depth: int
    topk: int
    answers: tuple[RecordedAnswer, ...]
    notes: tuple[str, ...]

    def drafts(self, answer: RecordedAnswer) -> tuple[Ids, LogProbs]:
        """Token ids and log-probabilities of every position, each (positions, L, K)."""
        shape = (answer.positions, self.depth, self.topk)
        size = 4 * self.depth * self.topk
        content = bytearray(2 * size * answer.positions)
        view = memoryview(content)
        with self.path.open("rb") as file:
            for number, offset in enumerate(answer.offsets):
                file.seek(offset)
                file.readinto(view[2 * size * number : 2 * size * (number + 1)])
        both = np.frombuffer(content, dtype="<i4").reshape(shape[0], 2, *shape[1:])
        return both[:, 0], both[:, 1].view("<f4")


def read_recording(path: Path) -> Recording:
    """Index the recording at `path`, also while its server still writes.

    Raises RunError when it is not there, or is no recording of this version.
    """
    try:
        with path.open("rb") as file:
            depth, topk = _read_header(file, path)
            answers, notes = _index(file, path, 8 * depth * topk)
    except OSError as cause:
        raise RunError(
            f"{path} cannot be read: {cause.strerror}",
            remedy="Run a sweep with an arm that has `record_drafts: true`.",
        ) from cause
    return Recording(path, depth, topk, tuple(answers), tuple(notes))


def _read_header(file: BinaryIO, path: Path) -> tuple[int, int]:
    head = file.read(len(MAGIC) + _HEADER.size)
    if len(head) < len(MAGIC) + _HEADER.size or not head.startswith(MAGIC):
        raise RunError(
            f"{path} is no recording of drafts", remedy="Give the run folder of a sweep."
        )
    version, depth, topk = _HEADER.unpack_from(head, len(MAGIC))
    if version != VERSION:
        raise RunError(
            f"{path} is a recording of version {version}, and this ddbench reads {VERSION}",
            remedy="Use the version of ddbench that recorded it.",
        )
    return depth, topk


def _index(file: BinaryIO, path: Path, drafts_size: int) -> tuple[list[RecordedAnswer], list[str]]:
    answers: list[RecordedAnswer] = []
    newest: dict[tuple[str, int], RecordedAnswer] = {}
    notes: list[str] = []
    strays = 0
    end = os.fstat(file.fileno()).st_size
    offset = file.tell()
    for offset, payload in _frames(file):
        name_size, prompt_len, position, root, choice = _PAYLOAD.unpack_from(payload)
        body = _PAYLOAD.size + name_size
        if len(payload) != body + drafts_size:
            raise _damaged(path, offset)
        rid = payload[_PAYLOAD.size : body].decode()
        drafts_at = offset - drafts_size
        answer = newest.get((rid, prompt_len))
        if position == 0:  # an id may be used again once its request is over
            answer = RecordedAnswer(rid, prompt_len, [root, choice], [drafts_at])
            newest[rid, prompt_len] = answer
            answers.append(answer)
        elif answer and position == answer.positions and root == answer.output_ids[-1]:
            answer.output_ids.append(choice)
            answer.offsets.append(drafts_at)
        else:
            strays += 1
    if strays:
        notes.append(f"{path.name}: {strays} positions do not follow on from the one before.")
    if offset < end:
        notes.append(
            f"{path.name}: the last {end - offset} bytes are an unfinished or damaged frame, and "
            "were left out."
        )
    return answers, notes


def _frames(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """(offset of the frame's end, payload) up to the first frame that is not whole."""
    offset = file.tell()
    while len(head := file.read(_FRAME.size)) == _FRAME.size:
        size, checksum = _FRAME.unpack(head)
        payload = file.read(size)
        if len(payload) < max(size, _PAYLOAD.size) or zlib.crc32(payload) != checksum:
            return
        offset += _FRAME.size + size
        yield offset, payload


def _damaged(path: Path, offset: int) -> RunError:
    return RunError(
        f"{path} holds a frame of another shape before byte {offset}",
        remedy="Record again; ddbench did not write this file as it is.",
    )
