"""The body of SGLang's native /generate, read into requests.

What SGLang has and this server does not is refused unless it says "off"; what neither knows is
refused, too. Nothing is ignored silently.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from ddbench.engine.generation import GenerationRequest, Sampling
from ddbench.engine.http import asked
from ddbench.engine.http.fields import Fields
from ddbench.engine.settings import EngineSettings
from ddbench.engine.tokenizer import Tokenizer
from ddbench.errors import RequestRefused

DEFAULT_NEW_TOKENS = 128  # SGLang's
DEFAULT_TEMPERATURE = 1.0

_ONLY_OFF: dict[str, tuple[Any, ...]] = {
    "input_embeds": (),
    "image_data": (),
    "video_data": (),
    "audio_data": (),
    "modalities": (),
    "logprob_start_len": (-1,),
    "token_ids_logprob": ([],),
    "lora_path": (),
    "session_params": (),
    "custom_logit_processor": (),
    "return_hidden_states": (False,),
    "return_routed_experts": (False,),
    "return_text_in_logprobs": (False,),
    "priority": (),
    "extra_key": (),
    "routing_key": (),
    "no_logs": (False, True),  # request text is never logged
    "log_metrics": (True,),
    "bootstrap_host": (),
    "bootstrap_port": (),
    "bootstrap_room": (),
}
_SAMPLING_ONLY_OFF: dict[str, tuple[Any, ...]] = {
    "top_p": (1.0,),
    "top_k": (-1, 1 << 30),
    "min_p": (0.0,),
    "frequency_penalty": (0.0,),
    "presence_penalty": (0.0,),
    "repetition_penalty": (1.0,),
    "min_new_tokens": (0,),
    "n": (1,),
    "beam_width": (),
    "json_schema": ("",),
    "regex": ("",),
    "ebnf": ("",),
    "structural_tag": ("",),
    "stop_regex": ([],),
    "spaces_between_special_tokens": (True, False),  # byte-level tokens bring their own
    "stream_interval": (1,),
    "logit_bias": ({},),
    "custom_params": ({},),
    "watermark": (),
}


@dataclass(frozen=True, slots=True)
class GenerateBody:
    """is_batch: the answer is a list, even for one prompt."""

    requests: tuple[GenerationRequest, ...]
    is_batch: bool
    stream: bool


def read_generate(
    body: Any, tokenizer: Tokenizer, settings: EngineSettings, vocab_size: int
) -> GenerateBody:
    """Raises RequestRefused."""
    fields = Fields(body)
    prompts, is_batch = _prompts(fields, tokenizer)
    count = len(prompts)
    stream = fields.boolean("stream")
    rids = _each(fields, "rid", count, is_batch)
    samplings = _each(fields, "sampling_params", count, is_batch)
    logprobs = _each(fields, "return_logprob", count, is_batch)
    top_logprobs = _each(fields, "top_logprobs_num", count, is_batch)
    fields.only(_ONLY_OFF)
    fields.finish()

    requests = []
    for prompt, rid, sampling, want_logprobs, top in zip(
        prompts, rids, samplings, logprobs, top_logprobs, strict=True
    ):
        one = Fields({"rid": rid, "return_logprob": want_logprobs, "top_logprobs_num": top})
        alternatives = one.integer("top_logprobs_num", least=0) or 0
        if alternatives > min(asked.MOST_TOP_LOGPROBS, vocab_size):
            raise one.wrong("top_logprobs_num", alternatives, f"at most {asked.MOST_TOP_LOGPROBS}")
        requests.append(
            GenerationRequest(
                rid=one.text("rid") or uuid4().hex,
                prompt_ids=tuple(prompt),
                sampling=_sampling(sampling, prompt, settings, vocab_size),
                logprobs=one.boolean("return_logprob"),
                top_logprobs=alternatives,
                streaming=stream,
            )
        )
    return GenerateBody(tuple(requests), is_batch, stream)


def _prompts(fields: Fields, tokenizer: Tokenizer) -> tuple[list[list[int]], bool]:
    text, ids = fields.any("text"), fields.any("input_ids")
    if (text is None) == (ids is None):
        raise RequestRefused(
            "Either text or input_ids should be provided, and not both", remedy="Send one of them."
        )
    if isinstance(text, str):
        return [tokenizer.encode(text)], False
    if text is not None:
        if not isinstance(text, list) or not text or not all(isinstance(t, str) for t in text):
            raise fields.wrong("text", text, "a string or a list of strings")
        return [tokenizer.encode(one) for one in text], True
    if (one := asked.token_list(ids)) is not None and one:
        return [one], False
    lists = [asked.token_list(each) for each in ids] if isinstance(ids, list) else []
    batch = [each for each in lists if each is not None]
    if not batch or len(batch) != len(lists):
        raise fields.wrong("input_ids", ids, "a list of integers, or a list of such lists")
    return batch, True


def _each(fields: Fields, name: str, count: int, is_batch: bool) -> Sequence[Any]:
    """One value for each prompt; in a batch a single value goes for all, but an id does not."""
    value = fields.any(name)
    if not isinstance(value, list):
        if name == "rid" and isinstance(value, str) and is_batch:
            return [f"{value}_{index}" for index in range(count)]
        return [value] * count
    if not is_batch or len(value) != count:
        raise fields.wrong(name, value, "one value, or in a batch a list with one a prompt")
    return value


def _sampling(
    body: Any, prompt: Sequence[int], settings: EngineSettings, vocab_size: int
) -> Sampling:
    fields = Fields({} if body is None else body, where="sampling_params.")
    unbounded = isinstance(body, dict) and body.get("max_new_tokens", 0) is None
    sampling = Sampling(
        max_new_tokens=asked.require_fit(
            prompt,
            fields.integer("max_new_tokens", least=1),
            None if unbounded else DEFAULT_NEW_TOKENS,
            settings,
            vocab_size,
        ),
        temperature=asked.temperature(fields, DEFAULT_TEMPERATURE),
        seed=asked.seed(fields, "sampling_seed"),
        ignore_eos=fields.boolean("ignore_eos"),
        stop=asked.stops(fields),
        stop_token_ids=asked.stop_token_ids(fields),
        trim_stop=not fields.boolean("no_stop_trim"),
        skip_special_tokens=fields.boolean("skip_special_tokens", True),
    )
    fields.only(_SAMPLING_ONLY_OFF)
    fields.finish()
    return sampling
