"""Append the tokens of one step, up to the first that ends the answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from ddbench.engine.generation import Finish, Generation
from ddbench.engine.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class StopRules:
    eos_ids: frozenset[int]
    tokenizer: Tokenizer


def commit(generation: Generation, tokens: Sequence[int], rules: StopRules) -> int:
    """Append `tokens`; set `finish` where one ends the answer, and drop the rest.

    This is the loop that committed_drafts is counted in: every token of a step after its first. A
    step that is not cut appends its drafts and the bonus, so for it that is the number of drafts;
    one that is cut inside its drafts has no bonus, and counts one less than its drafts.

    Returns the number of tokens appended, at least 1.
    """
    for position, token in enumerate(tokens):
        generation.output_ids.append(token)
        if position > 0:
            generation.committed_drafts += 1
        finish = _finish_after(generation, token, rules)
        if finish is not None:
            generation.end(finish)
            return position + 1
    return len(tokens)


def _finish_after(generation: Generation, token: int, rules: StopRules) -> Finish | None:
    """SGLang's order: a stop string, then a stop token, then the length limit."""
    sampling = generation.request.sampling
    output_ids = generation.output_ids
    if sampling.stop:
        # A token brings at least one byte, so a match that ends in this one starts at most as
        # many tokens back as it has bytes.
        reach = max(len(stop.encode()) for stop in sampling.stop)
        tail = rules.tokenizer.decode(output_ids[-reach:], skip_special_tokens=False)
        for stop in sampling.stop:
            if stop in tail:
                return Finish("stop", matched=stop)
    if not sampling.ignore_eos and (token in rules.eos_ids or token in sampling.stop_token_ids):
        return Finish("stop", matched=token)
    if len(output_ids) >= sampling.max_new_tokens:
        return Finish("length", length=sampling.max_new_tokens)
    return None
