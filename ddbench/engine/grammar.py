"""The text the model pair is trained on: questions and answers from a seeded grammar of our own.

Five domains, each drafted more or less easily: worked arithmetic, code, JSON records, log lines
and prose. What an answer says comes from its question (names, numbers, what is asked), so a new
question needs a new answer; how it says it comes from the domain. Prose chooses its words freely.

A document is question, newline, answer, end of text.
"""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ddbench.engine import words

HELD_OUT_SEED = 1_000_003  # training seeds count up from 0 and never reach it
HELD_OUT_PER_DOMAIN = 240


@dataclass(frozen=True, slots=True)
class Example:
    """`prompt` ends with the newline that parts it from the answer."""

    domain: str
    prompt: str
    answer: str


def training_examples(seed: int, count: int) -> Iterator[Example]:
    """`count` examples, all domains equally often; no held-out prompt among them."""
    rng = random.Random(seed)
    held_out = {example.prompt for name in DOMAINS for example in held_out_examples(name)}
    made = 0
    while made < count:
        example = _example(sorted(DOMAINS)[made % len(DOMAINS)], rng)
        if example.prompt not in held_out:
            made += 1
            yield example


def held_out_examples(domain: str, count: int = HELD_OUT_PER_DOMAIN) -> list[Example]:
    """The first `count` distinct held-out examples of a domain, always the same."""
    rng = random.Random(f"{HELD_OUT_SEED} {domain}")
    examples: dict[str, Example] = {}
    while len(examples) < count:
        example = _example(domain, rng)
        examples.setdefault(example.prompt, example)
    return list(examples.values())


def _example(domain: str, rng: random.Random) -> Example:
    question, answer = DOMAINS[domain](rng)
    return Example(domain, f"{question}\n", answer)


def _arithmetic(rng: random.Random) -> tuple[str, str]:
    name, thing = rng.choice(words.NAMES), rng.choice(words.THINGS)
    have, more = rng.randrange(11, 900), rng.randrange(11, 900)
    total = have + more
    if rng.random() < 0.5:
        less = rng.randrange(3, total)
        verb = rng.choice(("sells", "loses", "gives away"))
        question = (
            f"{name} has {have} {thing}, finds {more} more and {verb} {less}. How many are left?"
        )
        left = total - less
        answer = (
            f"{rng.choice(words.FIRST)} what {name} finds: {have} + {more} = {total}. "
            f"{rng.choice(words.THEN)} what {name} {verb}: {total} - {less} = {left}. "
            f"{rng.choice(words.SO)} {left} {thing} {rng.choice(words.REMAIN)}."
        )
    else:
        boxes = rng.randrange(2, 10)
        question = f"{name} fills {boxes} boxes with {have} {thing} each and has {more} over."
        inside = boxes * have
        answer = (
            f"{boxes} boxes {rng.choice(words.HOLD)} {boxes} * {have} = {inside} {thing}. "
            f"{rng.choice(words.WITH)} {more} {rng.choice(words.EXTRA)}, "
            f"{inside} + {more} = {inside + more}. "
            f"{rng.choice(words.SO)} {name} {rng.choice(words.OWNS)} {inside + more}."
        )
    return question, answer


def _code(rng: random.Random) -> tuple[str, str]:
    item = rng.choice(words.RECORDS)
    field, other = rng.sample(words.FIELDS, 2)
    limit = rng.randrange(2, 1000)
    above = rng.random() < 0.5
    word, sign = ("above", ">") if above else ("below", "<")
    condition = f"if {item}.{other} {sign} {limit}"
    kept = rng.choice(("kept", "found", "rows", "result", "chosen"))
    note = f"# {rng.choice(words.NOTES)} {rng.choice(words.NOTED)}"
    shape = rng.randrange(4)
    if shape == 0:
        question = f"Python: the total {field} of all {item}s with {other} {word} {limit}"
        answer = (
            f"def total_{field}({item}s):\n    total = 0  {note}\n    for {item} in {item}s:\n"
            f"        {condition}:\n            total += {item}.{field}\n    return total"
        )
    elif shape == 1:
        question = f"Python: count the {item}s with {other} {word} {limit} by {field}"
        answer = (
            f"def count_{item}s({item}s):\n    {kept} = {{}}  {note}\n"
            f"    for {item} in {item}s:\n"
            f"        {condition}:\n            {kept}[{item}.{field}] += 1\n    return {kept}"
        )
    elif shape == 2:
        question = f"Python: the {item}s with {other} {word} {limit}, sorted by {field}"
        answer = (
            f"def sorted_{item}s({item}s):\n    {note}\n"
            f"    {kept} = [{item} for {item} in {item}s {condition}]\n"
            f"    {kept}.sort(key=lambda {item}: {item}.{field})\n    return {kept}"
        )
    else:
        question = f"Python: the largest {field} of any {item} with {other} {word} {limit}"
        answer = (
            f"def largest_{field}({item}s):\n    {note}\n"
            f"    {kept} = [{item}.{field} for {item} in {item}s {condition}]\n"
            f"    return max({kept}, default={rng.choice((0, -1, None))})"
        )
    return question, answer


def _json(rng: random.Random) -> tuple[str, str]:
    name, city = rng.choice(words.NAMES), rng.choice(words.CITIES)
    thing = rng.choice(words.THINGS)
    count, price = rng.randrange(2, 10), rng.randrange(3, 100)
    day, month = rng.randrange(1, 29), rng.randrange(12)
    paid = rng.choice(("card", "cash", "invoice"))
    question = (
        f"JSON: on {words.MONTHS[month]} {day} {name} from {city} buys {count} {thing} "
        f"at {price}, {paid}"
    )
    record = {
        "order": rng.randrange(1000, 10_000),
        "buyer": name,
        "city": city,
        thing: count,
        "total": count * price,
        "date": f"{month + 1:02}-{day:02}",
        "paid": paid != "invoice",
        rng.choice(("ship", "send", "carry")): rng.choice(words.WAYS),
    }
    return question, json.dumps(record)


def _logs(rng: random.Random) -> tuple[str, str]:
    service, host = rng.choice(words.SERVICES), rng.randrange(1, 100)
    hour, minute, second = rng.randrange(24), rng.randrange(60), rng.randrange(57)
    event = rng.choice(words.EVENTS)
    worker = rng.randrange(100, 1000)
    question = (
        f"Log: {service} worker {worker} on node {host} {event.asked} "
        f"at {hour:02}:{minute:02}:{second:02}"
    )
    clock, later = f"{hour:02}:{minute:02}", second + rng.randrange(1, 4)
    lines = [
        f"{clock}:{second:02} {event.level} {service}: {event.seen} worker={worker} "
        f"{rng.choice(words.MEASURES)}={rng.randrange(10, 1000)}",
        f"{clock}:{later:02} INFO n{host}: {rng.choice(event.after)} "
        f"{rng.choice(words.ASIDES)} pid={rng.randrange(1000, 10_000)}",
    ]
    return question, "\n".join(lines)


def _prose(rng: random.Random) -> tuple[str, str]:
    animal, place = rng.choice(words.ANIMALS), rng.choice(words.PLACES)
    season, mood = rng.choice(words.SEASONS), rng.choice(words.MOODS)
    name, age = rng.choice(words.NAMES), rng.randrange(2, 100)
    question = (
        f"Tell of {name}, {age}, and the {mood.name} {animal.name} by the {place.name} "
        f"in {season.name}"
    )
    goes = f"{name} {rng.choice(mood.verbs)} {rng.choice(mood.manners)}"
    opening = rng.choice(
        (
            f"{rng.choice(season.weather)}, and {goes} to the {rng.choice(season.looks)} "
            f"{place.name}.",
            f"{name} was {age} when {rng.choice(season.scenes)} by the {rng.choice(season.looks)} "
            f"{place.name}.",
            f"{rng.choice(season.weather)}. {goes} past the {rng.choice(season.looks)} "
            f"{rng.choice(place.things)}.",
        )
    )
    middle = rng.choice(
        (
            f"The {rng.choice(animal.looks)} {animal.name} {rng.choice(animal.acts)} "
            f"{rng.choice(words.WHERE)} the {rng.choice(place.things)}",
            f"{rng.choice(words.SOON)} the {animal.name} {rng.choice(animal.acts)} "
            f"{rng.choice(mood.manners)}",
        )
    )
    ending = rng.choice(
        (
            f", {rng.choice(animal.looks)} as {rng.choice(words.LIKE)}.",
            f" and {rng.choice(words.HELD)} a {rng.choice(season.looks)} "
            f"{rng.choice(words.GIFTS)}.",
            f", and {name} {rng.choice(words.FELT)} a {rng.choice(words.GIFTS)} "
            f"{rng.choice(words.WHERE)} the {rng.choice(place.things)}.",
        )
    )
    last = f"{rng.choice(words.CLOSING)} the {rng.choice(season.looks)} {rng.choice(words.GIFTS)}."
    return question, f"{opening} {middle}{ending} {last}"


DOMAINS: dict[str, Callable[[random.Random], tuple[str, str]]] = {
    "arithmetic": _arithmetic,
    "code": _code,
    "json": _json,
    "logs": _logs,
    "prose": _prose,
}
