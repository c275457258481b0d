"""The few places where SGLang 0.5.23 must behave differently on a CPU, by its own hook registry."""

import logging
from collections.abc import Callable
from typing import Any

import torch
from sglang.srt.arg_groups import choices
from sglang.srt.layers.attention.attention_registry import register_attention_backend
from sglang.srt.plugins.hook_registry import HookRegistry, HookType
from torch import Tensor

from ddbench.sglang_plugin.faults import Fault, planted_fault
from ddbench.sglang_plugin.platform import ATTENTION_BACKEND

logger = logging.getLogger(__name__)


def register_hooks() -> None:
    """Called once in every process of the server, before SGLang builds anything."""
    register_attention_backend(ATTENTION_BACKEND)(_attention)
    if ATTENTION_BACKEND not in choices.DRAFT_ATTENTION_BACKEND_CHOICES:
        choices.add_draft_attention_backend_choices([ATTENTION_BACKEND])

    HookRegistry.register("torch.Tensor.record_stream", _record_stream, HookType.AROUND)
    HookRegistry.register(
        "sglang.srt.model_executor.model_runner.ModelRunner._extend_forward_kwargs",
        _keep_embedding_precision,
        HookType.AFTER,
    )
    HookRegistry.register(
        "sglang.srt.speculative.draft_utils.DraftBackendFactory.create_draft_extend_backend",
        _draft_extend_attention,
        HookType.REPLACE,
    )
    if (fault := planted_fault()) is not None:
        logger.warning("ddbench planted the fault %s: this server's output is wrong", fault.value)
    if fault is Fault.ACCEPT_ONE_TOO_MANY:
        HookRegistry.register(
            "sglang.kernels.ops.speculative.dflash.compute_dflash_correct_drafts_and_bonus",
            _accept_one_too_many,
            HookType.AROUND,
        )


def _attention(model_runner: Any) -> Any:
    from ddbench.sglang_plugin.attention import VerifyingAttention  # needs a full SGLang import

    return VerifyingAttention(model_runner)


def _record_stream(original: Callable[..., None], tensor: Tensor, stream: Any) -> None:
    """dflash_worker_v2.py calls this with torch.cpu's stream, which torch refuses for CPU tensors.

    There is nothing to record: CPU work is done when its call returns.
    """
    if tensor.device.type != "cpu":
        original(tensor, stream)


def _keep_embedding_precision(
    kwargs: dict[str, Any], model_runner: Any, forward_batch: Any, *_args: Any, **_kwargs: Any
) -> dict[str, Any]:
    """model_runner.py rounds input embeddings to bfloat16, whatever the model's type is.

    A float32 DFlash drafter then dies on mixed types. The embeddings are handed on as they were.
    """
    embeds = forward_batch.input_embeds
    if embeds is not None and forward_batch.replace_embeds is None:
        kwargs["input_embeds"] = embeds.to(model_runner.dtype)
    return kwargs


def _draft_extend_attention(factory: Any) -> Any:
    """draft_utils.py has no entry for torch_native (STANDALONE asks here)."""
    return _attention(factory.draft_model_runner)


def _accept_one_too_many(
    original: Callable[..., tuple[Tensor, Tensor]], *, candidates: Tensor, target_predict: Tensor
) -> tuple[Tensor, Tensor]:
    """Accept the first drafted token that the target did not agree with, too."""
    correct, _ = original(candidates=candidates, target_predict=target_predict)
    accepted = (correct + 1).clamp(max=candidates.shape[1] - 1)
    bonus = torch.gather(target_predict, 1, accepted.long()[:, None]).squeeze(1)
    return accepted.to(correct.dtype), bonus
