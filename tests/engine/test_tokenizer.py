"""Text that grows token by token, and the prompt of a chat."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddbench.engine.checkpoint import load_tokenizer, model_folder
from ddbench.engine.tokenizer import REPLACEMENT, TextStream, Tokenizer

TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(load_tokenizer(model_folder("builtin")), TEMPLATE)


def test_a_character_split_over_tokens_is_held_back_until_it_is_whole(tokenizer):
    ids = tokenizer.encode("añ€𝄞")
    stream = TextStream(tokenizer, skip_special_tokens=True)

    seen = [stream.text_of(ids[:count], is_final=False) for count in range(1, len(ids) + 1)]

    assert len(ids) > 4  # some characters are split
    assert seen[-1] == "añ€𝄞"
    assert all("añ€𝄞".startswith(text) for text in seen)


def test_an_unfinished_character_at_the_end_is_shown_as_one(tokenizer):
    ids = tokenizer.encode("€")
    stream = TextStream(tokenizer, skip_special_tokens=True)

    assert stream.text_of(ids[:-1], is_final=False) == ""
    assert stream.text_of(ids[:-1], is_final=True) == REPLACEMENT


@given(text=st.text(max_size=30), cuts=st.lists(st.integers(1, 5), max_size=40))
def test_piece_by_piece_is_the_same_text_as_at_once(text, cuts):
    tokenizer = Tokenizer(load_tokenizer(model_folder("builtin")), None)
    ids = tokenizer.encode(text)
    stream = TextStream(tokenizer, skip_special_tokens=False)

    end, texts = 0, [""]
    for cut in cuts:
        end = min(len(ids), end + cut)
        texts.append(stream.text_of(ids[:end], is_final=False))
    texts.append(stream.text_of(ids, is_final=True))

    assert texts[-1] == tokenizer.decode(ids, skip_special_tokens=False)
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))


def test_a_chat_becomes_the_template_with_the_assistant_to_speak(tokenizer):
    prompt = tokenizer.render_chat([{"role": "user", "content": "hi"}])

    assert prompt == "user: hi\nassistant:"


def test_a_model_without_a_template_has_no_chat():
    assert Tokenizer(load_tokenizer(model_folder("builtin")), None).render_chat([]) is None
