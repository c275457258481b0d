"""The one exception of the client. It never leaves ddbench.load: it becomes a RequestFailed."""


class BadAnswer(Exception):
    """What the server sent cannot be read. The message is a sentence for the run's record."""


def shown(raw: bytes | str, limit: int = 200) -> str:
    """The start of something the server sent, printable on one line."""
    text = raw.decode(errors="replace") if isinstance(raw, bytes) else raw
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[:limit]}..."
