"""A server of OpenAI's API. What the prompt says decides how it is answered.

Run it as a script; it prints its port. Like vLLM it has /health and counters of vLLM's names, and
none of SGLang's routes. `--owner sglang` gives the extensions of SGLang to whoever asks for them;
`--key KEY` wants that key; `--no-models` lists none. GET /asked gives the bodies of the requests so
far.
"""

import argparse
import asyncio
import json
from typing import Any

from aiohttp import web

WORDS = ["Grüße", ", ", "世界", " 🌍"]
SPEC = {
    "spec_accept_length": 2.0,
    "spec_num_correct_drafts": 3,
    "spec_verify_ct": 4,
    "spec_correct_drafts_histogram": [2, 1, 1],
}
USAGE = {
    "prompt_tokens": 5,
    "completion_tokens": 7,
    "total_tokens": 12,
    "prompt_tokens_details": {"cached_tokens": 2},
}
METRICS = """\
# TYPE vllm:prompt_tokens counter
vllm:prompt_tokens_total{engine="0",model_name="org/model"} %d
# TYPE vllm:generation_tokens counter
vllm:generation_tokens_total{engine="0",model_name="org/model"} %d
# TYPE vllm:spec_decode_num_drafts counter
vllm:spec_decode_num_drafts_total{engine="0",model_name="org/model"} %d
"""


def events(manner: str, body: dict[str, Any], owner: str) -> list[dict[str, Any]]:
    chat = "messages" in body

    def piece(text: str, finish: str | None = None, field: str = "content") -> dict[str, Any]:
        shown: dict[str, Any] = {"delta": {field: text}} if chat else {"text": text}
        return {"choices": [{"index": 0, **shown, "finish_reason": finish}], "usage": None}

    sent = [piece(word) for word in WORDS]
    if chat:
        role = {"delta": {"role": "assistant", "content": ""}, "finish_reason": None}
        sent.insert(0, {"choices": [role]})
    if manner == "reasons":
        sent.insert(1, piece("Hm. ", field="reasoning_content"))
    if manner == "error-midway":
        return [*sent[:2], {"error": {"message": "out of memory", "code": 500}}]
    if manner == "no-choices":
        return [{"text": "a"}]
    if manner == "text-is-a-number":
        return [{"choices": [{"text": 7, "delta": {"content": 7}}]}]
    if manner != "no-finish":
        sent.append(piece("", "abort" if manner == "aborted" else "length"))
    if owner == "sglang" and body.get("return_spec_tokens_details"):
        sent.append({"choices": [], "sglext": {"spec_tokens_details": SPEC}})
    usage = USAGE | ({"completion_tokens": "7"} if manner == "usage-is-text" else {})
    if body.get("stream_options", {}).get("include_usage") and manner != "no-usage":
        sent.append({"choices": [], "usage": usage})
    return sent


async def serve(options: argparse.Namespace) -> None:
    asked: list[dict[str, Any]] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        guarded = options.key and request.path.startswith(("/v1/", "/generate"))  # as in vLLM
        if guarded and request.headers.get("Authorization") != f"Bearer {options.key}":
            said = request.headers.get("Authorization", "none")
            return web.json_response({"error": {"message": f"wrong key {said}"}}, status=401)
        if request.path == "/asked":
            return web.json_response(asked)
        if request.path == "/v1/models":
            cards = [{"id": "org/model", "owned_by": options.owner}]
            return web.json_response({"data": [] if options.no_models else cards})
        if request.path == "/health":
            return web.Response()
        if request.path == "/metrics":
            return web.Response(text=METRICS % (5 * len(asked), 7 * len(asked), 3 * len(asked)))
        if request.path not in ("/v1/completions", "/v1/chat/completions"):
            return web.json_response({"detail": "Not Found"}, status=404)
        body = await request.json()
        asked.append({"path": request.path, **body})
        manner = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
        if manner == "repeats-the-key":
            said = request.headers["Authorization"]
            return web.json_response({"error": {"message": f"odd key {said}"}}, status=400)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in events(manner, body, options.owner):
            await response.write(f"data: {json.dumps(event)}\n\n".encode())
            await asyncio.sleep(0.005)
        await response.write(b"data: [DONE]\n\n")
        return response

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--owner", default="vllm")
    parser.add_argument("--key")
    parser.add_argument("--no-models", action="store_true")
    asyncio.run(serve(parser.parse_args()))
