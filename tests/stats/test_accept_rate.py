"""Pairs computed from a known formula and k must lead back to them."""

import random
import re
from pathlib import Path

import pytest

from ddbench.stats.accept_rate import RateFormula, formula_of_version, infer_accept_rate

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"


def printed_pairs(rate_of, largest, count=12, seed=0):
    """What a server prints, two decimals each, for random counts of drafts."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(count):
        length = 1 + rng.random() * (largest - 1)
        pairs.append((round(length, 2), round(rate_of(length), 2)))
    return pairs


@pytest.mark.parametrize("k", [2, 3, 4, 8, 16, 32])
@pytest.mark.parametrize("seed", range(5))
def test_finds_that_only_drafts_are_counted(k, seed):
    pairs = printed_pairs(lambda length: (length - 1) / (k - 1), k, seed=seed)

    inference = infer_accept_rate(pairs)

    assert inference.formula is RateFormula.DRAFTS_ONLY
    assert k in inference.draft_tokens
    assert len(inference.draft_tokens) <= max(1, k // 8)
    assert inference.misfits == ()


@pytest.mark.parametrize("m", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("seed", range(5))
def test_finds_that_the_bonus_token_is_counted(m, seed):
    pairs = printed_pairs(lambda length: length / m, m, seed=seed)

    inference = infer_accept_rate(pairs)

    assert inference.formula is RateFormula.LEN_OVER_M
    assert m in inference.bonus_divisors


@pytest.mark.parametrize(
    ("k", "steps", "formula"),
    [
        (4, 3, RateFormula.LEN_OVER_M),  # a chain: the two are one
        (8, 3, RateFormula.LEN_OVER_STEPS),
        (4, 5, RateFormula.LEN_OVER_K),
        (None, None, RateFormula.LEN_OVER_M),
    ],
)
def test_the_settings_tell_the_two_old_formulas_apart(k, steps, formula):
    pairs = [(2.50, 0.62), (3.00, 0.75), (1.01, 0.25)]

    inference = infer_accept_rate(pairs, draft_tokens=k, steps=steps)

    assert inference.formula is formula


@pytest.mark.parametrize("pair", [(8.00, 1.00), (4.00, 1.00), (2.77, 0.09)])
def test_what_fits_both_stays_unknown(pair):
    inference = infer_accept_rate([pair])

    assert inference.formula is None
    assert inference.bonus_divisors
    assert inference.draft_tokens


def test_no_accepted_draft_says_which_formula_but_not_which_k():
    inference = infer_accept_rate([(1.00, 0.00)])

    assert inference.formula is RateFormula.DRAFTS_ONLY
    assert len(inference.draft_tokens) > 1000


def test_a_second_pair_decides_what_one_left_open():
    assert infer_accept_rate([(8.00, 1.00), (4.50, 0.50)]).draft_tokens == range(8, 9)
    assert infer_accept_rate([(8.00, 1.00), (4.00, 0.50)]).bonus_divisors == range(8, 9)


def test_an_invented_pair_is_named_and_left_out():
    pairs = [(3.41, 0.34), (5.20, 0.60), (3.00, 1.40)]

    inference = infer_accept_rate(pairs)

    assert inference.misfits == ((3.00, 1.40),)
    assert inference.formula is RateFormula.DRAFTS_ONLY
    assert inference.draft_tokens == range(8, 9)


def test_pairs_of_two_servers_fit_no_single_formula():
    pairs = [(2.50, 0.62), (3.00, 0.75), (5.20, 0.60)]  # len/4, and (len-1)/7

    inference = infer_accept_rate(pairs)

    assert inference.formula is None
    assert not inference.bonus_divisors
    assert not inference.draft_tokens


@pytest.mark.parametrize("pairs", [[], [(0.0, 0.0)], [(3.0, 1.4)]])
def test_nothing_usable_leaves_everything_unknown(pairs):
    inference = infer_accept_rate(pairs, version="0.5.23")

    assert inference.formula is None
    assert inference.agrees_with_version is None
    assert not inference.bonus_divisors
    assert not inference.draft_tokens


def test_a_known_k_excludes_a_divisor_that_is_larger():
    assert infer_accept_rate([(3.41, 0.34)]).formula is None

    assert infer_accept_rate([(3.41, 0.34)], draft_tokens=8).formula is RateFormula.DRAFTS_ONLY


@pytest.mark.parametrize(
    ("version", "agrees"),
    [("0.5.23", True), ("0.5.10", False), ("0.4.6", None), ("main", None), (None, None)],
)
def test_the_version_is_compared_and_decides_nothing(version, agrees):
    inference = infer_accept_rate([(3.41, 0.34), (5.20, 0.60)], version=version)

    assert inference.formula is RateFormula.DRAFTS_ONLY
    assert inference.agrees_with_version is agrees


@pytest.mark.parametrize(
    ("version", "formula"),
    [
        ("0.4.10", None),
        ("0.5.3", None),
        ("0.5.3.post3", RateFormula.LEN_OVER_STEPS),
        ("v0.5.5", RateFormula.LEN_OVER_STEPS),
        ("0.5.6.post1", RateFormula.LEN_OVER_K),
        ("0.5.10", RateFormula.LEN_OVER_K),
        ("0.5.11", RateFormula.DRAFTS_ONLY),
        ("0.5.23+cpu", RateFormula.DRAFTS_ONLY),
        ("0.6.0", RateFormula.DRAFTS_ONLY),
        ("unknown", None),
    ],
)
def test_every_release_has_its_formula(version, formula):
    assert formula_of_version(version) is formula


@pytest.mark.parametrize("name", ["sglang-0.5.11-dflash", "sglang-0.5.23-ddtree-prototype"])
def test_captured_lines_lead_to_the_formula_and_the_k_of_their_server(name):
    log = (LOGS / f"{name}.log").read_text()
    pairs = re.findall(r"accept len: ([0-9.]+), accept rate: ([0-9.]+)", log)

    inference = infer_accept_rate((float(length), float(rate)) for length, rate in pairs)

    assert inference.formula is RateFormula.DRAFTS_ONLY
    assert 8 in inference.draft_tokens
    assert inference.misfits == ()
