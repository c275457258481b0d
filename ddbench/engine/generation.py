"""One request and what has become of it so far."""

import time
from dataclasses import dataclass, field
from typing import Any, Literal

import torch


@dataclass(frozen=True, slots=True)
class Sampling:
    """temperature 0 takes the most probable token; above it, tokens are drawn with `seed`."""

    max_new_tokens: int
    temperature: float = 0.0
    seed: int | None = None  # None: the engine picks one from its own --random-seed
    ignore_eos: bool = False  # as in SGLang it switches stop_token_ids off, too
    stop: tuple[str, ...] = ()
    stop_token_ids: frozenset[int] = frozenset()
    trim_stop: bool = True
    skip_special_tokens: bool = True


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    rid: str
    prompt_ids: tuple[int, ...]
    sampling: Sampling
    logprobs: bool = False
    top_logprobs: int = 0  # alternatives reported beside each output token
    streaming: bool = False
    is_health_check: bool = False  # left out of every counter


@dataclass(frozen=True, slots=True)
class Finish:
    """SGLang's finish_reason: kind "stop" carries what matched, "length" the limit."""

    kind: Literal["stop", "length", "abort"]
    matched: int | str | None = None
    length: int | None = None
    message: str | None = None

    def as_json(self) -> dict[str, Any]:
        if self.kind == "stop":
            return {"type": "stop", "matched": self.matched}
        if self.kind == "length":
            return {"type": "length", "length": self.length}
        return {
            "type": "abort",
            "message": self.message,
            "status_code": None,
            "err_type": None,
        }


@dataclass(slots=True, eq=False)
class Generation:
    """A request in work. Only the scheduler's thread writes it.

    The HTTP side reads it from another thread, which is safe because output_ids and its companions
    only grow, and everything else is final once `finish` is set: that is written last.

    prefix_len counts cached rows; the last output token, the next step's root, is not among them.
    """

    request: GenerationRequest
    received_s: float  # time.time()
    generator: torch.Generator | None = None
    slot: int | None = None
    prefix_len: int = 0
    output_ids: list[int] = field(default_factory=list)
    output_logprobs: list[float] = field(default_factory=list)
    output_top_logprobs: list[list[tuple[float, int]]] = field(default_factory=list)
    finish: Finish | None = None
    steps: int = 0  # decode steps, with drafts or without
    verify_ct: int = 0
    correct_drafts: int = 0  # before the cut at a stop or the length limit
    committed_drafts: int = 0  # after it; counted in commit.py, where tokens are appended
    histogram: list[int] = field(default_factory=list)  # h[d]: verify steps with d correct drafts
    forward_entry_s: float | None = None
    prefill_finished_s: float | None = None
    finished_s: float | None = None

    @property
    def prompt_len(self) -> int:
        return len(self.request.prompt_ids)

    @property
    def is_prefilled(self) -> bool:
        return self.prefill_finished_s is not None

    def record_verify(self, correct_drafts: int) -> None:
        """Count one verify step, as SGLang 0.5.23 does: with every draft the target agreed to."""
        self.verify_ct += 1
        self.correct_drafts += correct_drafts
        missing = correct_drafts + 1 - len(self.histogram)
        self.histogram.extend([0] * missing)
        self.histogram[correct_drafts] += 1

    def end(self, finish: Finish) -> None:
        self.finished_s = time.time()
        self.finish = finish
