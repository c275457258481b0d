"""Prompts with a long context: a storehouse's diary, and a question about one of its days.

Made here, since shipped they would be the largest files of the package. Every word follows from the
prompt's number by a hash: the same on every machine and under every version of Python.
"""

from hashlib import sha256

from ddbench.records import Prompt

CATEGORY = "long-context"

_DAYS = (40, 80, 160, 320)  # about 1,500, 3,000, 6,000 and 12,000 tokens
_PROMPTS = 12

_PEOPLE = ("Amina", "Bruno", "Chiara", "Dmitri", "Elif", "Farid", "Greta", "Hideo", "Ines", "Jonas")
_GOODS = ("lamps", "barrels", "rugs", "kettles", "saddles", "mirrors", "ropes", "clocks", "tiles")
_ROOMS = (
    "the cellar",
    "the loft",
    "the north hall",
    "the yard",
    "the glass room",
    "the old stable",
)
_SKIES = ("rain until noon", "a clear sky", "fog from the river", "a dry wind", "the first frost")
_EVENTS = (
    "The scales were tested and found two grams heavy.",
    "A carter waited an hour for a signature and said so.",
    "The cat slept on the ledger and nobody moved it.",
    "Two keys hung on the wrong hook and were put right.",
    "The lift stood still from ten to eleven.",
    "A buyer came, counted everything twice and bought nothing.",
    "The bell of the gate rang once with nobody there.",
)


def long_prompts() -> list[Prompt]:
    """Twelve prompts, three of each length, from short to long."""
    return [_prompt(number) for number in range(_PROMPTS)]


def _prompt(number: int) -> Prompt:
    days = _DAYS[number * len(_DAYS) // _PROMPTS]
    asked = 1 + _draw(days - 2, number, "asked")  # neither the first day nor the last
    entries = [_entry(number, day) for day in range(days)]
    text = (
        f"This is the diary of a storehouse, one entry a day.\n\n{''.join(entries)}\n"
        f"Question: what was brought in on day {asked + 1}, how many of it, by whom, and where was "
        "it put? Quote the entry word for word, then say on how many other days the same person "
        "brought something to the same place, and name these days."
    )
    return Prompt(f"suite-{CATEGORY}-{number:02d}", "", CATEGORY, (("user", text),))


def _entry(number: int, day: int) -> str:
    def one_of(choices: tuple[str, ...], what: str) -> str:
        return choices[_draw(len(choices), number, day, what)]

    return (
        f"Day {day + 1}, {one_of(_SKIES, 'sky')}. {one_of(_PEOPLE, 'who')} brought "
        f"{2 + _draw(97, number, day, 'count')} {one_of(_GOODS, 'what')} and put them in "
        f"{one_of(_ROOMS, 'where')}. {one_of(_EVENTS, 'event')}\n"
    )


def _draw(below: int, *what: object) -> int:
    """A number from 0 to below - 1 that only `what` decides."""
    return int.from_bytes(sha256(repr(what).encode()).digest()[:8]) % below
