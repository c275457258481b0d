"""What the server says of itself: model, settings, health, counters.

/server_info and /model_info have SGLang's names for what this server has; SGLang's many settings
that it does not have are left out. `version` and `engine` say that this is not SGLang.
"""

import asyncio
import time
from typing import Any
from uuid import uuid4

from aiohttp import web

from ddbench import __version__
from ddbench.engine.counters import Gauge, prometheus_text
from ddbench.engine.generation import GenerationRequest, Sampling
from ddbench.engine.http.fields import Fields, parse_json
from ddbench.engine.http.serving import json_answer, serving
from ddbench.engine.loading import Engine

ENGINE = "embedded demo model, CPU"
HEALTH_TIMEOUT_S = 20.0


async def health(request: web.Request) -> web.Response:
    """200 while the scheduler works; when it has nothing to do it is given one token to write."""
    server = serving(request)
    if server.engine.scheduler.is_idle:
        probe = GenerationRequest(
            rid=f"HEALTH_CHECK_{uuid4().hex}",
            prompt_ids=(0,),
            sampling=Sampling(max_new_tokens=1),
            is_health_check=True,
        )
        with server.office.open([probe]) as (ticket,):
            try:
                await asyncio.wait_for(ticket.changed.wait(), HEALTH_TIMEOUT_S)
            except TimeoutError:
                return web.Response(status=503)
    elif time.time() - server.engine.scheduler.stepped_s > HEALTH_TIMEOUT_S:
        return web.Response(status=503)
    return web.Response()


async def model_info(request: web.Request) -> web.Response:
    engine = serving(request).engine
    path = engine.arguments.model_path
    return json_answer(
        {
            "model_path": path,
            "served_model_name": engine.arguments.served_model_name,
            "tokenizer_path": path,
            "is_generation": True,
            "preferred_sampling_params": None,
            "weight_version": "default",
            "load_format": "auto",
            "reasoning_parser": None,
            "tool_call_parser": None,
            "disaggregation_mode": "null",
            "has_image_understanding": False,
            "has_audio_understanding": False,
            "model_type": "qwen3",
            "architectures": ["Qwen3ForCausalLM"],
            "engine": ENGINE,
        }
    )


async def server_info(request: web.Request) -> web.Response:
    engine = serving(request).engine
    settings = engine.settings
    state: dict[str, Any] = {
        **server_args(engine),
        "world_size": 1,
        "effective_max_running_requests_per_dp": settings.max_running_requests,
        "last_gen_throughput": engine.batch_log.gen_throughput_per_s,
        "memory_usage": {"token_capacity": settings.max_total_tokens},
    }
    if (average := engine.batch_log.average_accept_length) is not None:
        state["avg_spec_accept_length"] = average
    return json_answer(
        {
            **server_args(engine),
            "status": "ready",
            "max_total_num_tokens": settings.max_total_tokens,
            "max_req_input_len": settings.context_length - 1,
            "internal_states": [state],
            "version": f"ddbench-embedded {__version__}",
            "engine": ENGINE,
            **engine.seams.stated(settings),
            "fault": None if (fault := engine.arguments.fault) is None else str(fault),
        }
    )


def server_args(engine: Engine) -> dict[str, Any]:
    """The settings in SGLang's names, resolved: what the server runs with, not what was asked."""
    arguments, settings = engine.arguments, engine.settings
    draft = settings.draft
    return {
        "model_path": arguments.model_path,
        "tokenizer_path": arguments.model_path,
        "served_model_name": arguments.served_model_name,
        "host": arguments.host,
        "port": arguments.port,
        "device": "cpu",
        "dtype": "float32",
        "context_length": settings.context_length,
        "max_running_requests": settings.max_running_requests,
        "max_total_tokens": settings.max_total_tokens,
        "chunked_prefill_size": settings.chunked_prefill_size,
        "decode_log_interval": settings.decode_log_interval,
        "random_seed": settings.random_seed,
        "schedule_policy": "fcfs",
        "stream_interval": 1,
        "page_size": 1,
        "tp_size": 1,
        "dp_size": 1,
        "pp_size": 1,
        "attention_backend": "torch_native",
        "sampling_backend": "pytorch",
        "disable_cuda_graph": True,
        "disable_overlap_schedule": True,
        "disable_radix_cache": True,
        "skip_server_warmup": True,
        "enable_metrics": arguments.enable_metrics,
        "weight_version": "default",
        "speculative_algorithm": None if draft is None else draft.algorithm,
        "speculative_draft_model_path": arguments.draft_model_path,
        "speculative_num_draft_tokens": None if draft is None else draft.verify_width,
        "speculative_dflash_block_size": None if draft is None else draft.block_size,
        "speculative_ddtree_budget": None if draft is None else draft.budget,
        "speculative_ddtree_topk": None if draft is None else draft.topk,
        **engine.seams.stated(settings),
    }


async def models(request: web.Request) -> web.Response:
    engine = serving(request).engine
    card = {
        "id": engine.arguments.served_model_name,
        "object": "model",
        "created": int(time.time()),
        "owned_by": "ddbench",
        "root": engine.arguments.served_model_name,
        "parent": None,
        "max_model_len": engine.settings.context_length,
    }
    return json_answer({"object": "list", "data": [card]})


async def flush_cache(request: web.Request) -> web.Response:
    """There is no prefix cache to flush: this starts the log's windows and means afresh."""
    done = serving(request).engine.scheduler.flush()
    if await asyncio.wrap_future(done):
        return web.Response(
            text="Cache flushed.\nPlease check backend logs for more details. (When there are "
            "running or waiting requests, the operation will not be performed.)\n"
        )
    return web.Response(text="Flush cache failed.\n", status=400)


async def abort_request(request: web.Request) -> web.Response:
    fields = Fields(parse_json(await request.read()))
    rid = fields.text("rid")
    abort_all = fields.boolean("abort_all")
    fields.only({"abort_message": ("",)})
    fields.finish()
    if rid or abort_all:
        serving(request).office.abort(None if abort_all else rid)
    return web.Response()


async def metrics(request: web.Request) -> web.Response:
    engine = serving(request).engine
    text = prometheus_text(engine.counters, _gauges(engine), engine.arguments.served_model_name)
    return web.Response(text=text, headers={"Content-Type": "text/plain; version=0.0.4"})


def _gauges(engine: Engine) -> list[Gauge]:
    now = engine.scheduler.occupancy
    log = engine.batch_log
    free = now.total_tokens - now.used_tokens
    gauges = [
        Gauge("sglang:num_running_reqs", "The number of running requests.", now.running),
        Gauge("sglang:num_queue_reqs", "The number of requests in the waiting queue.", now.queued),
        Gauge("sglang:num_retracted_reqs", "The number of retracted requests.", 0),
        Gauge("sglang:num_used_tokens", "The number of used tokens.", now.used_tokens),
        Gauge("sglang:token_usage", "The token usage.", now.usage),
        Gauge("sglang:kv_available_tokens", "Number of free token slots.", free),
        Gauge("sglang:max_total_num_tokens", "Token slots of the KV cache.", now.total_tokens),
        Gauge("sglang:cache_hit_rate", "The prefix cache hit rate.", 0),
        Gauge(
            "sglang:gen_throughput",
            "The generation throughput (token/s).",
            log.gen_throughput_per_s,
        ),
    ]
    if (draft := engine.settings.draft) is not None:
        gauges += [
            Gauge(
                "sglang:spec_accept_length",
                "Mean acceptance length (accepted drafts + bonus token per forward).",
                log.accept_length,
            ),
            Gauge(
                "sglang:spec_accept_rate",
                "Accepted drafts / proposed drafts of the last interval.",
                log.accept_rate,
            ),
            Gauge(
                "sglang:spec_num_draft_tokens",
                "Currently active speculative_num_draft_tokens.",
                draft.verify_width,
            ),
        ]
    return gauges
