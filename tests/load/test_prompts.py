"""Prompts from files that people really have, and from files that are broken."""

import json
import re
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from ddbench.errors import PromptError
from ddbench.load.long_prompts import long_prompts
from ddbench.load.prompts import read_builtin, read_prompts


def write(folder: Path, name: str, *entries: Any) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries))
    return path


@pytest.fixture
def builtin(tmp_path: Path) -> Path:
    """Three domains of unequal length."""
    for domain, size in (("prose", 3), ("code", 1), ("logs", 2)):
        entries = ({"id": f"{domain}-{n}", "prompt": f"{domain} {n}"} for n in range(size))
        write(tmp_path, f"{domain}.jsonl", *({**e, "category": domain} for e in entries))
    return tmp_path


def test_mixed_takes_a_prompt_of_each_domain_in_turn(builtin: Path) -> None:
    prompts = read_builtin("mixed", 6, builtin)

    assert [p.prompt_id for p in prompts] == [
        *("code-0", "logs-0", "prose-0"),
        *("logs-1", "prose-1"),
        "prose-2",
    ]
    assert prompts[0].text == "code 0"
    assert prompts[0].category == "code"


def test_the_prompts_that_ship_tell_themselves_apart() -> None:
    prompts = read_prompts("builtin:mixed", 96)

    assert len({prompt.prompt_id for prompt in prompts}) == 96
    assert len({prompt.text for prompt in prompts}) == 96
    assert len({prompt.category for prompt in prompts}) >= 5


def test_the_suite_asks_real_models_about_eight_things_in_turn() -> None:
    prompts = read_prompts("builtin:suite", 96)

    assert len({prompt.prompt_id for prompt in prompts}) == 96
    assert len({prompt.messages for prompt in prompts}) == 96
    assert len({prompt.category for prompt in prompts[:8]}) == 8
    assert Counter(prompt.category for prompt in prompts) == dict.fromkeys(
        ("chat", "code", "json", "long-context", "maths", "reasoning", "rewriting", "summary"), 12
    )
    assert {role for prompt in prompts for role, _ in prompt.messages} == {"user"}


def test_the_suite_is_the_same_everywhere() -> None:
    """A change of the prompts changes this: runs from before and after cannot be compared."""
    said = repr([(p.prompt_id, p.messages) for p in read_prompts("builtin:suite", 96)])

    assert sha256(said.encode()).hexdigest()[:16] == "1c832036704a9c04"


def test_long_prompts_get_longer_and_hold_their_answer() -> None:
    texts = [prompt.messages[0][1] for prompt in long_prompts()]

    lengths = [len(text) for text in texts]
    assert lengths[0] > 4_000
    assert lengths[-1] > 8 * lengths[0] * 0.9
    for text in texts:
        day = re.search(r"brought in on day (\d+),", text)
        assert day is not None
        assert text.count(f"\nDay {day[1]}, ") == 1


def test_one_domain_can_be_chosen(builtin: Path) -> None:
    assert [p.prompt_id for p in read_builtin("logs", 2, builtin)] == ["logs-0", "logs-1"]


def test_an_unknown_domain_names_the_known_ones(builtin: Path) -> None:
    with pytest.raises(PromptError, match="builtin:poems") as caught:
        read_builtin("poems", 1, builtin)

    assert caught.value.remedy == (
        "Use one of builtin:code, builtin:logs, builtin:prose, builtin:mixed, builtin:suite."
    )


def test_too_few_prompts_says_how_many_there_are(builtin: Path) -> None:
    with pytest.raises(PromptError, match="builtin:mixed holds 6 prompts, 7 are asked for"):
        read_builtin("mixed", 7, builtin)


def test_lines_hold_a_prompt_or_a_text(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "p.jsonl",
        {"prompt": "Grüße", "id": 7, "category": "greeting"},
        {"text": "你好"},
    )
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n") + b"\r\n")

    first, second = read_prompts(str(path), 2)

    assert (first.prompt_id, first.text, first.category) == ("7", "Grüße", "greeting")
    assert (second.text, second.category) == ("你好", None)


def test_an_id_made_of_the_text_is_the_same_wherever_it_stands(tmp_path: Path) -> None:
    one = write(tmp_path, "1.jsonl", {"text": "a"}, {"text": "b"})
    two = write(tmp_path, "2.jsonl", {"text": "b"})

    assert read_prompts(str(one), 2)[1] == read_prompts(str(two), 1)[0]


def test_a_text_that_comes_twice_gets_two_ids(tmp_path: Path) -> None:
    path = write(tmp_path, "p.jsonl", {"text": "a"}, {"text": "a"}, {"text": "a"})

    first, second, third = (p.prompt_id for p in read_prompts(str(path), 3))

    assert (second, third) == (f"{first}-2", f"{first}-3")


def test_only_as_many_lines_are_read_as_asked(tmp_path: Path) -> None:
    path = write(tmp_path, "p.jsonl", {"text": "a"}, {"text": "b"}, ["not a prompt"])

    assert len(read_prompts(str(path), 2)) == 2


@pytest.mark.parametrize("as_list", [True, False])
def test_sharegpt_gives_its_first_human_turns(as_list: bool, tmp_path: Path) -> None:
    entries = [
        {"id": "a", "conversations": [{"from": "human", "value": "hi"}, {"from": "gpt"}]},
        {"id": "b", "conversations": [{"from": "system"}, {"from": "human", "value": "ho"}]},
    ]
    path = write(tmp_path, "s.json", *([entries] if as_list else entries))

    assert [(p.prompt_id, p.text) for p in read_prompts(str(path), 2)] == [("a", "hi"), ("b", "ho")]


def test_conversations_keep_their_messages_but_for_the_last_answer(tmp_path: Path) -> None:
    system = {"role": "system", "content": "Be brief."}
    parts = [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]
    user = {"role": "user", "content": parts}
    answer = {"role": "assistant", "content": "Hi."}
    path = write(tmp_path, "m.jsonl", {"id": "m", "messages": [system, user, answer]})

    (prompt,) = read_prompts(str(path), 1)

    assert prompt.prompt_id == "m"
    assert prompt.text == ""
    assert prompt.messages == (("system", "Be brief."), ("user", "Hello"))


def test_the_first_of_several_turns_is_asked(tmp_path: Path) -> None:
    turns = ["Write a poem.", "Now without rhymes."]
    path = write(tmp_path, "t.jsonl", {"question_id": 81, "category": "writing", "turns": turns})

    (prompt,) = read_prompts(str(path), 1)

    assert (prompt.prompt_id, prompt.category) == ("81", "writing")
    assert prompt.messages == (("user", "Write a poem."),)


def test_openai_batch_files_give_the_bodies_of_their_requests(tmp_path: Path) -> None:
    chat = {"model": "m", "messages": [{"role": "user", "content": "a"}], "max_tokens": 9}
    path = write(
        tmp_path,
        "b.jsonl",
        {"custom_id": "r-1", "method": "POST", "url": "/v1/chat/completions", "body": chat},
        {"custom_id": "r-2", "method": "POST", "url": "/v1/completions", "body": {"prompt": "b"}},
    )

    first, second = read_prompts(str(path), 2)

    assert (first.prompt_id, first.text, first.messages) == ("r-1", "", (("user", "a"),))
    assert (second.prompt_id, second.text, second.messages) == ("r-2", "b", ())


def test_sglang_custom_files_give_the_first_turn_whoever_spoke(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "c.jsonl",
        {"conversations": [{"content": "a"}, {"content": "b"}]},
        {"conversation": [{"value": "c"}, {"value": "d"}]},
    )

    assert [prompt.text for prompt in read_prompts(str(path), 2)] == ["a", "c"]


def test_equal_conversations_get_two_ids_and_other_ones_another(tmp_path: Path) -> None:
    ask = [{"role": "user", "content": "a"}]
    other = [{"role": "system", "content": "a"}, *ask]
    path = write(tmp_path, "m.jsonl", {"messages": ask}, {"messages": ask}, {"messages": other})

    first, second, third = (prompt.prompt_id for prompt in read_prompts(str(path), 3))

    assert second == f"{first}-2"
    assert not third.startswith(first)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "holds no prompts"),
        (b"\n \n", "holds no prompts"),
        (b'{"text": "a"}\n{"text": \n', "line 2 is not JSON"),
        (b'{"text": "a"}\n{"text": "\xff"}\n', "line 2 is not UTF-8: byte 0xff at offset 10"),
        (b'[{"text": "a"},\n{"text": "\xff"}]', r"\(line 2\) is not UTF-8"),
        (b'{"text": "a"}\n"b"\n', "line 2 is not a JSON object"),
        (b'{"text": 7}', "line 1: `text` is not a string"),
        (b'{"prompt": " "}', "line 1 holds an empty prompt"),
        (b'{"messages": []}', "line 1 has no message to answer"),
        (b'{"messages": [{"role": "assistant", "content": "a"}]}', "has no message to answer"),
        (b'{"messages": [{"role": "user", "content": 7}]}', "message 1 is not a role with a text"),
        (
            b'{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}',
            "message 1 is not a role with a text",
        ),
        (b'{"messages": [{"role": "user", "content": " "}]}', "line 1 holds an empty prompt"),
        (b'{"turns": []}', "`turns` is not a list of texts"),
        (b'{"custom_id": "a", "body": {"input": "x"}}', "body has no prompt, only input"),
        (b'{"question": "a", "n": 1}', "line 1 has no prompt, only question, n"),
        (b'{"conversations": [{"from": "gpt", "value": "a"}]}', "has no human turn"),
        (b'[{"text": "a"}, 7]', "entry 2 is not a JSON object"),
        (b'{"id": "x", "text": "a"}\n{"id": "x", "text": "b"}', "gives the id 'x' twice"),
        (b'{"text": "a"}', "holds 1 prompts, 2 are asked for"),
    ],
)
def test_a_broken_file_is_one_sentence(content: bytes, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_bytes(content)

    with pytest.raises(PromptError, match=complaint) as caught:
        read_prompts(str(path), 2)

    assert "prompts.jsonl" in str(caught.value)
    assert caught.value.remedy.endswith(".")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="there is no prompt file"):
        read_prompts(str(tmp_path / "none.jsonl"), 1)
    with pytest.raises(PromptError, match="cannot be read"):
        read_prompts(str(tmp_path), 1)
