"""Secrets out of all that is stored or shown: by the name they have, and by how they look."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

REDACTED = "<redacted>"
MIN_SECRET_LENGTH = 8

# "max_total_tokens" and "tokenizer_path" are none: only the last word of a name counts.
_SECRET_NAME = re.compile(
    r"(^|[_-])(key|apikey|token|secret|password|passwd|passphrase|credentials?|authorization)$",
    re.IGNORECASE,
)

_SHAPES = re.compile(
    "|".join(
        (
            r"\bhf_[A-Za-z0-9]{16,}",  # Hugging Face
            r"\bsk-[A-Za-z0-9_-]{16,}",  # OpenAI and others
            r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}",
            r"\bAKIA[0-9A-Z]{16}\b",  # AWS
            r"\bxox[abprs]-[A-Za-z0-9-]{10,}",  # Slack
            r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+",  # a JSON web token
            r"(?<=Bearer )[^\s'\",]{8,}",
            r"(?<=://)[^\s/@:]+:[^\s/@]+(?=@)",  # user:password in an address
        )
    )
)

# --api-key X, api_key='X', "api_key": "X"; a bare None, null, true or false is no secret
_NAMED = re.compile(
    r"(?:[A-Za-z0-9]+[_-])*"
    r"(?:api[_-]?key|access[_-]?key|secret[_-]?key|auth[_-]?token|access[_-]?token|hf[_-]token"
    r"|password|passwd|passphrase)"
    r"['\"]?(?:\s*[:=]\s*|\s+)['\"]?"
    r"(?!None\b|null\b|true\b|false\b|True\b|False\b)(?P<value>[^\s'\",;)}\]]{4,})",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def secret_values(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The values of variables that are secret by name, longest first."""
    values = {
        value
        for name, value in environment.items()
        if is_secret_name(name) and len(value) >= MIN_SECRET_LENGTH
    }
    return tuple(sorted(values, key=len, reverse=True))


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """`text` with REDACTED in the place of each secret. `secrets` are values known to be one."""
    parts: list[str] = []
    done = 0
    for start, end in _spans(text, secrets):
        parts += [text[done:start], REDACTED]
        done = end
    return "".join([*parts, text[done:]])


def redact_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """A command line with the values of secret flags replaced: `--api-key X`, `--api-key=X`."""
    told: list[str] = []
    follows_secret = False
    for word in argv:
        flag, equals, _ = word.partition("=")
        if follows_secret and not word.startswith("--"):
            told.append(REDACTED)
        elif word.startswith("--") and equals and is_secret_name(flag.lstrip("-")):
            told.append(f"{flag}={REDACTED}")
        else:
            told.append(redact(word))
        follows_secret = word.startswith("--") and not equals and is_secret_name(flag.lstrip("-"))
    return tuple(told)


def redact_mapping(values: Mapping[str, str], secrets: Sequence[str] = ()) -> dict[str, str]:
    return {
        name: REDACTED if value and is_secret_name(name) else redact(value, secrets)
        for name, value in values.items()
    }


def redact_log(path: Path, secrets: Sequence[str]) -> None:
    """Overwrite secrets in the file with stars, byte for byte, so that every offset stays valid."""
    with path.open("r+b") as log:
        redact_open_log(log, secrets)


def redact_open_log(log: BinaryIO, secrets: Sequence[str]) -> None:
    """The same for a file open for reading and writing, whatever its name is by now."""
    offset = 0
    log.seek(offset)
    for line in log:
        text = line.decode("latin-1")  # a byte is a character: spans are offsets
        for start, end in _spans(text, secrets):
            log.seek(offset + start)
            log.write(b"*" * (end - start))
        offset += len(line)
        log.seek(offset)


def _spans(text: str, secrets: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where the secrets stand, in order, without overlaps."""
    found = [match.span() for match in _SHAPES.finditer(text)]
    found += [match.span("value") for match in _NAMED.finditer(text)]
    for secret in secrets:
        found += [match.span() for match in re.finditer(re.escape(secret), text)]
    done = 0
    for start, end in sorted(found):
        if end > done:
            yield max(start, done), end
            done = end
