"""What the answers of all routes have in common: how they are taken, and how they go wrong."""

from typing import Any, Protocol

import orjson

from ddbench.load.bad_answer import BadAnswer, shown
from ddbench.load.http_stream import Exchange
from ddbench.records import Prompt, RequestOutcome


class Answer(Protocol):
    """Takes the bytes of one streamed answer as they arrive, and makes the record of it."""

    @property
    def stamps(self) -> list[float]:
        """time.perf_counter() of each event that carried tokens."""
        ...

    def feed(self, at: float, piece: bytes, /) -> None:
        """Take a piece of the body; raise BadAnswer when it can be no answer of this route."""
        ...

    def take_events(self, stamps: list[float], events: list[bytes], /) -> None:
        """Take events of one line each, which arrived whole; else as `feed`."""
        ...

    def outcome(
        self, exchange: Exchange, prompt: Prompt, *, sent_s: float, lateness_s: float
    ) -> RequestOutcome:
        """The record, once the exchange is over. Never raises for what the answer held."""
        ...


def json_object(event: bytes) -> dict[str, Any]:
    try:
        answer = orjson.loads(event)
    except orjson.JSONDecodeError as cause:
        raise BadAnswer(f"an event is not JSON ({cause}): {shown(event)}") from cause
    if not isinstance(answer, dict):
        raise BadAnswer(f"an event is not a JSON object: {shown(event)}")
    return answer


def refuse_incomplete(
    exchange: Exchange, error: str | None, events: int, unfinished: bytes
) -> None:
    """Raise BadAnswer unless the exchange brought a whole answer.

    error: what the server said went wrong, in an event. unfinished: what came after the last event.
    """
    if error is not None:
        raise BadAnswer(error)
    if exchange.failure is not None:
        after = f" after {events} events" if events else ""
        raise BadAnswer(exchange.failure + after)
    if exchange.status != 200:
        raise BadAnswer(f"HTTP {exchange.status}: {_message_in(exchange.error_body)}")
    if unfinished.strip():
        raise BadAnswer(f"the stream ended inside an event: {shown(unfinished.strip())}")
    if not events:
        raise BadAnswer("the stream ended before any token")


def message_of(error: object) -> str:
    """What an error object says."""
    message = error.get("message", error) if isinstance(error, dict) else error
    return shown(str(message))


def _message_in(error_body: bytes) -> str:
    """What an answer other than 200 says: SGLang's error object, FastAPI's detail, or its bytes."""
    try:
        answer = orjson.loads(error_body)
    except orjson.JSONDecodeError:
        return shown(error_body) or "an empty answer"
    if isinstance(answer, dict):
        for key in ("error", "detail", "message"):
            if key in answer:
                return message_of(answer[key])
    return shown(error_body)
