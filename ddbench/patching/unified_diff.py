"""Git-format patches, applied exactly: every old line where the patch says it is, or not at all.

No fuzz and no offsets: a series is made for files whose hashes are known, so a hunk that does not
fit is a mistake and no reason to search for a place that looks alike.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk, PatchedFile, PatchSet

from ddbench.errors import PatchError

PACKAGE = "sglang"
_IN_REPOSITORY = "python/"  # where SGLang's own repository keeps the package
_NOT_SUPPORTED = ("rename from", "copy from", "old mode", "GIT binary patch")


@dataclass(frozen=True, slots=True)
class _Replaced:
    start: int  # lines of the file before it
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of one patch. `path` is relative to site-packages; lines keep their newline."""

    path: str
    creates: bool
    removes: bool
    replaced: tuple[_Replaced, ...]

    def applied_to(self, content: bytes | None, patch: str) -> bytes | None:
        """The file afterwards; None is a file that does not exist.

        Raises PatchError, naming patch, file and line, where the patch was made for another file.
        """
        if self.creates != (content is None):
            said = "exists already" if self.creates else "does not exist"
            raise _does_not_fit(patch, f"{self.path} {said}")
        before = [] if content is None else list(_lines(content))
        after: list[bytes] = []
        taken = 0
        for part in self.replaced:
            after += before[taken : part.start]
            taken = part.start + len(part.old)
            if tuple(before[part.start : taken]) != part.old:
                raise _does_not_fit(patch, f"{self.path} differs at line {part.start + 1}")
            after += part.new
        after += before[taken:]
        if self.removes and after:
            raise _does_not_fit(patch, f"{self.path} has more lines than it removes")
        return None if self.removes else b"".join(after)


def read_patch(path: Path) -> tuple[FileChange, ...]:
    """Every file of a patch, in its order. Raises PatchError for what is no such patch."""
    try:
        files = PatchSet(path.read_bytes().decode(errors="surrogateescape"))
    except UnidiffParseError as cause:
        raise PatchError(
            f"{path} is no git-format patch: {cause}",
            remedy="Write it with `git format-patch`.",
        ) from cause
    if not files:
        raise PatchError(
            f"{path} changes nothing", remedy="Remove it, or write it with `git format-patch`."
        )
    return tuple(_file_change(file, path) for file in files)


def applied(
    files: Mapping[str, bytes | None], changes: tuple[FileChange, ...], patch: str
) -> dict[str, bytes | None]:
    """The changed files alone; `files` must have every file that is changed (None: absent)."""
    after: dict[str, bytes | None] = {}
    for change in changes:
        content = after.get(change.path, files.get(change.path))
        after[change.path] = change.applied_to(content, patch)
    return after


def _file_change(file: PatchedFile, patch: Path) -> FileChange:
    header = "" if file.patch_info is None else str(file.patch_info)
    if file.is_binary_file or any(what in header for what in _NOT_SUPPORTED):
        raise PatchError(
            f"{patch} does more to {file.path} than change its text",
            remedy="Write it with `git format-patch --no-renames`, without binary files and modes.",
        )
    return FileChange(
        path=_in_site_packages(file.path, patch),
        creates="new file mode" in header or file.source_file == "/dev/null",
        removes="deleted file mode" in header or file.target_file == "/dev/null",
        replaced=tuple(map(_replaced, file)),
    )


def _in_site_packages(path: str, patch: Path) -> str:
    path = path.removeprefix(_IN_REPOSITORY)
    parts = path.split("/")
    if parts[0] != PACKAGE or ".." in parts:
        raise PatchError(
            f"{patch} changes {path}, which is not in the {PACKAGE} package",
            remedy=f"Let it change only what lies under {PACKAGE}/ in site-packages.",
        )
    return path


def _replaced(hunk: Hunk) -> _Replaced:
    old: list[bytes] = []
    new: list[bytes] = []
    last: tuple[list[bytes], ...] = ()
    for line in hunk:
        if line.line_type == "\\":  # the line before it ends without a newline
            for lines in last:
                lines[-1] = lines[-1].removesuffix(b"\n")
            continue
        last = {" ": (old, new), "-": (old,), "+": (new,)}.get(line.line_type, ())
        for lines in last:
            lines.append(line.value.encode(errors="surrogateescape"))
    start = hunk.source_start - 1 if hunk.source_length else hunk.source_start
    return _Replaced(start, tuple(old), tuple(new))


def _lines(content: bytes) -> Iterator[bytes]:
    """As bytes.splitlines(keepends=True), which also splits at a lone carriage return."""
    start = 0
    while start < len(content):
        end = content.find(b"\n", start) + 1 or len(content)
        yield content[start:end]
        start = end


def _does_not_fit(patch: str, why: str) -> PatchError:
    return PatchError(
        f"{patch} does not fit: {why}",
        remedy="Use the SGLang version that the series was made for, unchanged.",
    )
