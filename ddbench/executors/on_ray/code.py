"""That a host has the same ddbench as the driver, found out without having any there."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import ddbench


@dataclass(frozen=True, slots=True)
class Code:
    """version: None where there is no ddbench. digest: of its Python files."""

    version: str | None
    digest: str | None
    python: str


def asker() -> Callable[[], tuple[str | None, str | None, str]]:
    """A function that says which ddbench there is, and needs none to be sent to another host.

    Ray sends a function that stands inside of another by its code, and a module's by its name.
    """

    def ask() -> tuple[str | None, str | None, str]:
        import hashlib
        import pathlib
        import platform

        try:
            import ddbench as found
        except ImportError:
            return None, None, platform.python_version()
        folder = pathlib.Path(str(found.__file__)).parent
        digest = hashlib.sha256()
        for file in sorted(folder.rglob("*.py")):
            digest.update(f"{file.relative_to(folder)}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        return found.__version__, digest.hexdigest(), platform.python_version()

    return ask


def ours() -> Code:
    return Code(*asker()())


def why_unlike(theirs: Code, mine: Code) -> str | None:
    """In words, how their ddbench is another one; None when it is the same."""
    if theirs.version is None:
        return "has no ddbench"
    if theirs.version != mine.version:
        return f"has ddbench {theirs.version}, and this is {mine.version}"
    if theirs.digest != mine.digest:
        return f"has a ddbench {theirs.version} whose files are not those of this one"
    return None


def package_folder() -> Path:
    """What is sent to hosts that have no ddbench of their own."""
    return Path(str(ddbench.__file__)).parent


def needs_dependencies() -> str:
    return f"Python {sys.version_info.major}.{sys.version_info.minor} with ddbench's dependencies"
