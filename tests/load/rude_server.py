"""A server with bad manners: the text of each prompt says how it is to be answered.

Run it as a script; it prints its port. `python rude_server.py --replay FILE` answers every request
with the captured stream of FILE instead.
"""

import argparse
import asyncio
import json
import os
import socket
import struct
from pathlib import Path
from typing import Any

DOOR: list[asyncio.Server] = []  # the one that listens

TEXTS = ("Gr", "Grüß", "Grüße,", "Grüße, 世", "Grüße, 世界", "Grüße, 世界 🌍")


def event(tokens: int, *, finish: str | None = None, **meta: Any) -> dict[str, Any]:
    info = {
        "finish_reason": None if finish is None else {"type": finish, "length": tokens},
        "prompt_tokens": 3,
        "completion_tokens": tokens,
        "cached_tokens": 0,
        "num_retractions": 0,
    }
    return {
        "text": TEXTS[tokens - 1],
        "output_ids": list(range(100, 100 + tokens)),
        "meta_info": info | meta,
    }


def healthy_events(**meta: Any) -> list[dict[str, Any]]:
    spec = {
        "spec_verify_ct": 3,
        "spec_num_correct_drafts": 2,
        "spec_correct_drafts_histogram": [1, 2],
    }
    return [event(n) for n in range(1, 6)] + [event(6, finish="stop", **(spec | meta))]


def incremental_events() -> list[dict[str, Any]]:
    events = healthy_events()
    for n in range(5, 0, -1):
        events[n]["text"] = events[n]["text"].removeprefix(events[n - 1]["text"])
        events[n]["output_ids"] = events[n]["output_ids"][n:]
    return events


def compact(*events: dict[str, Any] | str) -> list[dict[str, Any] | str]:
    """As SGLang's own serialiser writes them: not a space between."""
    return [
        e if isinstance(e, str) else json.dumps(e, ensure_ascii=False, separators=(",", ":"))
        for e in events
    ]


def sse(*events: dict[str, Any] | str) -> bytes:
    lines = [e if isinstance(e, str) else json.dumps(e, ensure_ascii=False) for e in events]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


def chunked(payload: bytes, size: int = 1 << 20) -> bytes:
    """The payload in chunks of at most `size` bytes, without the last, empty one."""
    parts = [payload[at : at + size] for at in range(0, len(payload), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
END = b"0\r\n\r\n"
HEALTHY = sse(*healthy_events(), "[DONE]")


def streamed(*events: dict[str, Any] | str) -> bytes:
    return HEAD + chunked(sse(*events, "[DONE]")) + END


def last_event(**changes: Any) -> bytes:
    """A stream whose last event has other meta_info; a field changed to "absent" is left out."""
    last = healthy_events(**changes)[-1]
    last["meta_info"] = {k: v for k, v in last["meta_info"].items() if v != "absent"}
    return streamed(*healthy_events()[:-1], last)


def plain(status: str, body: bytes, *headers: str) -> bytes:
    head = "\r\n".join([f"HTTP/1.1 {status}", f"content-length: {len(body)}", *headers])
    return head.encode() + b"\r\n\r\n" + body


ERROR = {"error": {"message": "Out of memory even after retracting.", "code": 500}}

ANSWERS: dict[str, bytes] = {
    "healthy": streamed(*healthy_events()),
    "incremental": streamed(*incremental_events()),
    "compact-incremental": streamed(*compact(*incremental_events())),
    "compact-tricky": streamed(
        *compact(
            *(
                event(n, finish="stop" if n == 4 else None)
                | {"text": 'a","meta_info":{', "output_ids": [n]}
                for n in range(1, 5)
            )
        )
    ),
    "incremental-first-token-twice": streamed(
        {"text": "a", "output_ids": [7], "meta_info": event(1)["meta_info"]},
        {"text": "a", "output_ids": [7], "meta_info": event(2, finish="stop")["meta_info"]},
    ),
    "one-event": streamed(event(3, finish="length")),
    "without-ids": streamed(
        *({k: v for k, v in e.items() if k != "output_ids"} for e in healthy_events())
    ),
    "crlf": HEAD + chunked(HEALTHY.replace(b"\n", b"\r\n")) + END,
    "without-space": HEAD + chunked(HEALTHY.replace(b"data: ", b"data:")) + END,
    "comments": HEAD + chunked(b": ping\n\nevent: message\nid: 7\n" + HEALTHY) + END,
    "extensions-and-trailers": HEAD
    + chunked(HEALTHY, 50).replace(b"32\r\n", b"32;why=not\r\n")
    + b"0\r\nx-sum: 7\r\n\r\n",
    "content-length": plain("200 OK", HEALTHY),
    "closes-politely": streamed(*healthy_events()).replace(
        b"200 OK\r\n", b"200 OK\r\nconnection: close\r\n"
    ),
    "continue-first": b"HTTP/1.1 100 Continue\r\n\r\n" + streamed(*healthy_events()),
    "logprobs": last_event(output_token_logprobs=[[-0.5 * n, 100 + n, None] for n in range(6)]),
    "0.5.11": last_event(
        num_retractions="absent",
        total_retractions=1,
        spec_num_correct_drafts="absent",
        spec_correct_drafts_histogram="absent",
        spec_accepted_drafts=2,
    ),
    "committed": last_event(spec_num_committed_drafts=2),
    # what follows is no answer
    "half-event": HEAD + chunked(HEALTHY[: len(HEALTHY) // 2]) + END,
    "no-finish-reason": streamed(*healthy_events()[:-1]),
    "no-events": HEAD + chunked(b"data: [DONE]\n\n") + END,
    "empty": HEAD + END,
    "invalid-json": streamed(event(1), event(2), '{"text": "Grü", "meta', event(6, finish="stop")),
    "not-an-object": streamed(event(1), "[1, 2]"),
    "nan": streamed(event(1), '{"text": "", "meta_info": {"completion_tokens": NaN}}'),
    "no-meta-info": streamed({"text": "a", "output_ids": [1]}),
    "meta-info-is-a-list": streamed({"text": "a", "meta_info": []}),
    "tokens-is-text": last_event(completion_tokens="6"),
    "tokens-is-true": last_event(completion_tokens=True),
    "tokens-is-negative": last_event(completion_tokens=-6),
    "tokens-is-a-fraction": last_event(completion_tokens=6.5),
    "no-tokens": last_event(completion_tokens="absent"),
    "no-prompt-tokens": last_event(prompt_tokens="absent"),
    "verify-ct-is-text": last_event(spec_verify_ct="3"),
    "histogram-is-a-number": last_event(spec_correct_drafts_histogram=3),
    "histogram-holds-null": last_event(spec_correct_drafts_histogram=[1, None]),
    "finish-reason-is-a-number": last_event(finish_reason=3),
    "null-logprob": last_event(output_token_logprobs=[[None, 1, None]] * 6),
    "too-few-logprobs": last_event(output_token_logprobs=[[-0.5, 1, None]] * 5),
    "ids-are-text": streamed(event(6, finish="stop") | {"output_ids": ["a"]}),
    "text-is-a-number": streamed(event(6, finish="stop") | {"text": 7}),
    "error-first": streamed(ERROR),
    "error-midway": streamed(*healthy_events()[:3], ERROR),
    "error-beside-text": streamed(*healthy_events()[:3], event(4) | ERROR),
    "compact-error": streamed(  # and then goes on as if nothing had been
        *compact(*incremental_events()[:3], event(4) | ERROR, *incremental_events()[4:])
    ),
    "compact-only-error": streamed(*compact(*incremental_events()[:3], ERROR)),
    "compact-invalid-json": streamed(
        *compact(*incremental_events()[:3], '{"text":"x","meta_info', *incremental_events()[4:])
    ),
    "compact-two-in-one": streamed(
        *compact(*incremental_events()[:3], '{"text":"x"},{"text":"y"}', *incremental_events()[4:])
    ),
    "aborted": streamed(
        *healthy_events()[:3],
        event(4, finish_reason={"type": "abort", "message": "Aborted by the user."}),
    ),
    "http-400": plain("400 Bad Request", json.dumps(ERROR).encode()),
    "http-500": plain("500 Internal Server Error", b"Internal Server Error"),
    "http-503-empty": plain("503 Service Unavailable", b""),
    "http-500-endless": b"HTTP/1.1 500 Oh\r\ncontent-length: 900000\r\n\r\n" + b"x" * 900_000,
    "http-422-chunked": b"HTTP/1.1 422 No\r\ntransfer-encoding: chunked\r\n\r\n"
    + chunked(b'{"detail": "field required"}', 5)
    + END,
    "redirect": plain("307 Temporary Redirect", b"", "location: /elsewhere"),
    "not-http": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "header-without-colon": b"HTTP/1.1 200 OK\r\nwhat is this\r\n\r\n",
    "endless-head": b"HTTP/1.1 200 OK\r\nx-pad: " + b"x" * 100_000,
    "gzip": b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
    "bad-length": b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
    "bad-chunk-size": HEAD + b"zz\r\nhello\r\n",
    "short-chunk": HEAD + b"5\r\nhello, world\r\n",
    "bytes-after-the-end": streamed(*healthy_events()) + b"and more",
}


def replayed(captured: Path) -> bytes:
    """A captured stream as it stood on the wire, a chunk an event."""
    lines = [json.loads(line)["line"] for line in captured.read_text().splitlines()]
    return HEAD + b"".join(chunked(line.encode() + b"\n\n") for line in lines) + END


async def read_request(reader: asyncio.StreamReader) -> dict[str, Any]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(head.partition("content-length:")[2].partition("\r\n")[0])
    body: dict[str, Any] = json.loads(await reader.readexactly(length))
    return body


def reset(writer: asyncio.StreamWriter) -> None:
    """Close with an RST instead of a FIN."""
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.close()


async def misbehave(manner: str, writer: asyncio.StreamWriter) -> bool:
    """Answer in `manner`; True when the connection may be used again."""
    if manner in ANSWERS:
        writer.write(ANSWERS[manner])
        await writer.drain()
        return manner != "closes-politely"
    first = HEAD + chunked(sse(*healthy_events()[:3]))
    if manner == "split-anywhere":
        wire = HEAD + chunked(HEALTHY, 7) + END
        for at in range(0, len(wire), 11):
            writer.write(wire[at : at + 11])
            await writer.drain()
            await asyncio.sleep(0)
        return True
    if manner == "trickle":
        wire = HEAD + chunked(sse(*healthy_events()[:1], healthy_events()[-1]), 3) + END
        for at in range(0, len(wire), 8):
            writer.write(wire[at : at + 8])
            await asyncio.sleep(0.002)
        return True
    if manner == "until-close":
        writer.write(b"HTTP/1.0 200 OK\r\n\r\n" + HEALTHY)
    elif manner == "cut-in-a-chunk":
        writer.write(first + b"40\r\ndata: {")
    elif manner == "cut-between-chunks":
        writer.write(first)
    elif manner == "hang-up":
        pass
    elif manner in ("reset", "reset-midway"):
        if manner == "reset-midway":
            writer.write(first)
            await asyncio.sleep(0.05)
        reset(writer)
    elif manner in ("silent", "hang-midway"):
        if manner == "hang-midway":
            writer.write(first)
        await asyncio.sleep(60)
    elif manner == "shut-the-door":  # takes no new connections, keeps those it has
        DOOR[0].close()
    elif manner == "die":
        writer.write(first)
        await writer.drain()
        os._exit(1)
    else:
        raise SystemExit(f"nobody is rude like {manner!r}")
    return False


async def serve(replay: bytes | None) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            again = True
            while again:
                request = await read_request(reader)
                if replay is None:
                    again = await misbehave(request["text"], writer)
                else:
                    writer.write(replay)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    DOOR.append(server)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--replay", type=Path)
    captured = parser.parse_args().replay
    asyncio.run(serve(None if captured is None else replayed(captured)))
