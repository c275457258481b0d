"""Planting faults: names and doses on the command line, and how often a fault strikes."""

import pytest
import torch

from ddbench.engine.arguments import parse_arguments
from ddbench.engine.faults import Fault, PlantedFault, planted_fault
from ddbench.engine.planted.seams import Seams
from ddbench.engine.planted.table import effect_of, planted


def test_a_fault_is_named_with_or_without_a_dose():
    assert planted_fault("mask-dropped") == PlantedFault(Fault.MASK_DROPPED, 1.0)
    assert planted_fault("bonus-lost:0.25") == PlantedFault(Fault.BONUS_LOST, 0.25)
    assert str(planted_fault("bonus-lost:0.25")) == "bonus-lost:0.25"
    assert str(planted_fault("bonus-lost:1")) == "bonus-lost"


@pytest.mark.parametrize("text", ["gremlins", "mask-dropped:0", "mask-dropped:2", "mask-dropped:x"])
def test_what_is_no_fault_or_dose_is_refused(text, capsys):
    with pytest.raises(SystemExit) as ended:
        parse_arguments(["--model-path", "builtin", "--fault", text])

    assert ended.value.code == 2
    assert "--fault" in capsys.readouterr().err


def test_help_does_not_offer_faults(capsys):
    with pytest.raises(SystemExit):
        parse_arguments(["--help"])

    assert "--fault" not in capsys.readouterr().out


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_is_a_change_of_the_healthy_seams_and_says_its_effect(fault):
    seams = planted(PlantedFault(fault, 0.5))

    changed = [name for name in vars(Seams) if getattr(type(seams), name) != getattr(Seams, name)]
    assert changed
    assert effect_of(fault).endswith(".")


@pytest.mark.parametrize(("dose", "of_100"), [(1.0, 100), (0.5, 50), (0.25, 25), (0.07, 7)])
def test_a_dose_is_the_share_of_occasions_evenly_spread(dose, of_100):
    seams = Seams(dose)

    struck = [seams.strikes() for _ in range(100)]

    assert sum(struck) == of_100
    longest = max(len(run) for run in "".join("x" if s else " " for s in struck).split("x"))
    assert longest <= 1 / dose


def test_a_healthy_server_changes_nothing():
    seams = planted(None)
    log_probs = torch.randn(2, 7, 30)

    assert type(seams) is Seams
    assert seams.log_probs(log_probs) is log_probs
    assert seams.logits(log_probs) is log_probs
    assert seams.moves_rows()
    assert seams.slots(4) == 4


def test_shuffled_ranks_keep_the_best_guess_and_every_probability():
    log_probs = torch.log_softmax(
        torch.randn(2, 7, 31, generator=torch.Generator().manual_seed(1)), -1
    )

    shuffled = planted(PlantedFault(Fault.RANKS_SHUFFLED)).log_probs(log_probs)

    assert torch.equal(shuffled.argmax(-1), log_probs.argmax(-1))
    assert torch.equal(shuffled.sort(-1).values, log_probs.sort(-1).values)
    second = shuffled.topk(4, dim=-1).indices[..., 1:]
    assert (second == log_probs.topk(4, dim=-1).indices[..., 1:]).float().mean() < 0.1
