"""Prompts: those that ship with ddbench, and those of a user's file.

A prompt's id is its own, or made of its text: the same at every concurrency and in every arm, since
arms are compared prompt by prompt.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

import orjson

from ddbench.errors import PromptError
from ddbench.load.long_prompts import long_prompts
from ddbench.load.prompt_entry import ACCEPTED, id_of, prompt_of
from ddbench.records import Prompt

BUILTIN_FOLDER = Path(__file__).parent / "builtin"
SUITE_FOLDER = Path(__file__).parent / "suite"
MIXED = "mixed"
SUITE = "suite"


def read_prompts(source: str, count: int) -> list[Prompt]:
    """The first `count` prompts of a source.

    Args:
        source: `builtin:<domain>` or `builtin:mixed` (a prompt of each domain in turn), both made
            for the shipped tiny model; `builtin:suite`, conversations for real ones, a prompt of
            each of eight categories in turn; or the path of a JSONL file or of a JSON list, whose
            entries prompt_entry.py describes.

    Raises:
        PromptError: it is missing, cannot be read, or holds fewer.
    """
    if source == f"builtin:{SUITE}":
        return _enough(read_suite(), count, source)
    if source.startswith("builtin:"):
        return read_builtin(source.removeprefix("builtin:"), count, BUILTIN_FOLDER)
    return read_prompt_file(Path(source), count)


def prompts_digest(prompts: Sequence[Prompt]) -> str:
    """A SHA-256 in hex of their ids and of what they say."""
    said = (f"{p.prompt_id}\0{p.messages or p.text}" for p in prompts)
    return sha256("\0".join(said).encode()).hexdigest()


def read_suite() -> list[Prompt]:
    """All prompts for real models, one of each category in turn; the long ones are made here."""
    files = [list(_prompts_of(path)) for path in sorted(SUITE_FOLDER.glob("*.jsonl"))]
    turns = zip_longest(*files, long_prompts())
    return [p for p in chain.from_iterable(turns) if p is not None]


def builtin_domains(folder: Path = BUILTIN_FOLDER) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.jsonl"))


def read_builtin(domain: str, count: int, folder: Path) -> list[Prompt]:
    """`count` prompts of one domain of `folder`, or of all of them in turn for "mixed"."""
    domains = builtin_domains(folder)
    if domain != MIXED and domain not in domains:
        raise PromptError(
            f"there are no prompts builtin:{domain}",
            remedy="Use one of "
            + ", ".join(f"builtin:{name}" for name in [*domains, MIXED, SUITE])
            + ".",
        )
    chosen = domains if domain == MIXED else [domain]
    turns = zip_longest(*(_prompts_of(folder / f"{name}.jsonl") for name in chosen))
    found = [p for p in chain.from_iterable(turns) if p is not None]
    return _enough(_told_apart(found, f"builtin:{domain}"), count, f"builtin:{domain}")


def read_prompt_file(path: Path, count: int) -> list[Prompt]:
    """`count` prompts of a JSONL or ShareGPT file; what stands after them is not looked at."""
    found = list(islice(_prompts_of(path), count))
    return _enough(_told_apart(found, str(path)), count, str(path))


def _enough(prompts: list[Prompt], count: int, source: str) -> list[Prompt]:
    if not prompts:
        raise PromptError(f"{source} holds no prompts", remedy=ACCEPTED)
    if len(prompts) < count:
        raise PromptError(
            f"{source} holds {len(prompts)} prompts, {count} are asked for",
            remedy=f"Lower `count` to {len(prompts)}, or add prompts.",
        )
    return prompts[:count]


def _told_apart(prompts: list[Prompt], source: str) -> list[Prompt]:
    """A text that comes twice keeps its id and a number; an id given twice is a mistake."""
    seen: dict[str, int] = {}
    apart: list[Prompt] = []
    for prompt in prompts:
        times = seen[prompt.prompt_id] = seen.get(prompt.prompt_id, 0) + 1
        if times > 1 and prompt.prompt_id != id_of(prompt.text, prompt.messages):
            raise PromptError(
                f"{source} gives the id {prompt.prompt_id!r} twice",
                remedy="Give every prompt its own `id`, or none at all.",
            )
        if times > 1:
            prompt = replace(prompt, prompt_id=f"{prompt.prompt_id}-{times}")
        apart.append(prompt)
    return apart


def _prompts_of(path: Path) -> Iterator[Prompt]:
    """Every prompt of a file, in order."""
    try:
        raw = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except FileNotFoundError:
        raise PromptError(
            f"there is no prompt file {path}",
            remedy="Correct `prompts` in the sweep file; a path counts from where ddbench runs.",
        ) from None
    except OSError as cause:
        raise PromptError(
            f"the prompt file {path} cannot be read: {cause.strerror}",
            remedy="Name a readable JSONL file.",
        ) from cause
    for where, entry in _entries(raw, path):
        prompt = prompt_of(entry, where)
        if prompt is not None:
            yield prompt


def _entries(raw: bytes, path: Path) -> Iterator[tuple[str, object]]:
    """Where each entry stands, and what it is: of a JSON list, or one a line."""
    if raw.lstrip().startswith(b"["):
        for number, entry in enumerate(_json_of(raw, str(path)), start=1):
            yield f"{path}, entry {number}", entry
        return
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if line.strip():
            where = f"{path}, line {number}"
            yield where, _json_of(line, where)


def _json_of(raw: bytes, where: str) -> Any:
    try:
        raw.decode()
    except UnicodeDecodeError as cause:
        line = raw.count(b"\n", 0, cause.start) + 1
        inside = f" (line {line})" if line > 1 else ""
        raise PromptError(
            f"{where}{inside} is not UTF-8: byte {raw[cause.start]:#04x} at offset {cause.start}",
            remedy="Save the file as UTF-8.",
        ) from cause
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as cause:
        raise PromptError(f"{where} is not JSON: {cause}", remedy=ACCEPTED) from cause
