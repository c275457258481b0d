"""What every handler needs, and the two ways to write a body."""

from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import web

from ddbench.engine.http.tickets import TicketOffice
from ddbench.engine.loading import Engine


@dataclass(frozen=True, slots=True)
class Serving:
    engine: Engine
    office: TicketOffice


SERVING = web.AppKey("serving", Serving)


def serving(request: web.Request) -> Serving:
    return request.app[SERVING]


def json_answer(value: Any, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json")


class EventStream:
    """Server-sent events, one JSON value each, ended by [DONE]."""

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self._response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream; charset=utf-8"}
        )

    async def start(self) -> None:
        await self._response.prepare(self._request)

    async def send(self, *values: Any) -> None:
        await self._response.write(
            b"".join(b"data: " + orjson.dumps(value) + b"\n\n" for value in values)
        )

    async def end(self) -> web.StreamResponse:
        await self._response.write(b"data: [DONE]\n\n")
        await self._response.write_eof()
        return self._response
