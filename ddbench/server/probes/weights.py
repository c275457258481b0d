"""Which weights, tokenizer and chat template the server was given, by their content."""

import json
import os
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from ddbench.server.probes.probe import NotKnown, Subject

HASHED_WHOLE_BYTES = 4 * 2**30
"""Weights above this are hashed by their sizes, headers and ends: reading 500 GB takes minutes."""

_SAMPLE_BYTES = 2**20
_CHUNK_BYTES = 2**20
_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "tiktoken.model",
    "vocab.json",
    "merges.txt",
    "tokenizer_config.json",
    "special_tokens_map.json",
)


class _Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...


def target(subject: Subject) -> dict[str, str]:
    return _weights("target", str(subject.told("model_path")))


def drafter(subject: Subject) -> dict[str, str]:
    if subject.config.speculation.algorithm is None:
        return {}
    return _weights("drafter", str(subject.told("speculative_draft_model_path")))


def tokenizer(subject: Subject) -> dict[str, str]:
    folder = _folder(str(subject.told("tokenizer_path")))
    present = [folder / name for name in _TOKENIZER_FILES if (folder / name).is_file()]
    if not present:
        raise NotKnown(f"{folder} holds no tokenizer file")
    return {"tokenizer.sha256": _digest(present, _add_whole)}


def chat_template(subject: Subject) -> dict[str, str]:
    """The template the server was told to use, else the one beside the weights."""
    told = (subject.info or {}).get("chat_template")
    if told:
        path = Path(str(told))
        text = path.read_text(encoding="utf-8") if path.is_file() else str(told)
        return {"chat_template.sha256": sha256(text.encode()).hexdigest()}
    folder = _folder(str(subject.told("tokenizer_path")))
    if (beside := folder / "chat_template.jinja").is_file():
        return {"chat_template.sha256": sha256(beside.read_bytes()).hexdigest()}
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    template = config.get("chat_template") if isinstance(config, dict) else None
    if template is None:
        raise NotKnown(f"{folder} has no chat template")
    return {"chat_template.sha256": sha256(json.dumps(template).encode()).hexdigest()}


def _weights(role: str, path: str) -> dict[str, str]:
    """<role>.sha256 over config and all weight files, or <role>.sampled_sha256 for huge ones."""
    folder = _folder(path)
    files = sorted(
        file for kind in ("*.safetensors", "*.bin", "*.gguf", "*.pt") for file in folder.glob(kind)
    )
    if not files:
        raise NotKnown(f"{folder} holds no weight file")
    total_bytes = sum(file.stat().st_size for file in files)
    config = folder / "config.json"
    facts = {f"{role}.weight_bytes": str(total_bytes)}
    if config.is_file():
        facts[f"{role}.config_sha256"] = sha256(config.read_bytes()).hexdigest()
    if total_bytes <= HASHED_WHOLE_BYTES:
        return facts | {f"{role}.sha256": _digest(files, _add_whole)}
    return facts | {f"{role}.sampled_sha256": _digest(files, _add_sample)}


def _folder(path: str) -> Path:
    """Where the weights lie here: `path` itself, or the snapshot that a hub name stands for."""
    folder = Path(path).expanduser()
    if folder.is_dir():
        return folder
    hub = Path(
        os.environ.get("HF_HUB_CACHE")
        or Path(os.environ.get("HF_HOME") or "~/.cache/huggingface").expanduser() / "hub"
    )
    cached = hub / f"models--{path.replace('/', '--')}"
    reference = cached / "refs" / "main"
    if reference.is_file():
        snapshot = cached / "snapshots" / reference.read_text().strip()
        if snapshot.is_dir():
            return snapshot
    raise NotKnown(f"{path} is no folder on this machine")


def _digest(files: Iterable[Path], add: Callable[[_Hash, Path], None]) -> str:
    digest = sha256()
    for file in files:
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
        add(digest, file)
    return digest.hexdigest()


def _add_whole(digest: _Hash, file: Path) -> None:
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)


def _add_sample(digest: _Hash, file: Path) -> None:
    with file.open("rb") as stream:
        digest.update(stream.read(_SAMPLE_BYTES))  # safetensors: the header, with every shape
        stream.seek(max(0, file.stat().st_size - _SAMPLE_BYTES))
        digest.update(stream.read(_SAMPLE_BYTES))
