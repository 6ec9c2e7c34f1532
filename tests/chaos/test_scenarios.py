"""The short form of ``make chaos``: each scenario once, for seconds; every disturbance comes at least once.

A play is a sample by its nature. Each turn of `.ci/run` has one or two, `make test` and `make chaos` have all.
"""

import os
import random
from pathlib import Path

import pytest

from tests.chaos.play import Size, play
from tests.chaos.scenarios import SCENARIOS, Scenario
from tests.support.forking import Nursery

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]
"""A play takes 10 s; ten times as long where ten times as much is asked of the machine."""

SIZE = Size(seconds=2.0, pace=0.2, nodes=2, tasks=3, runs=16)
"""A task of each kind of overlap, and a node that is left when the other is gone: in so short a play, more requests,
nodes and tasks are more work and no more proof."""


@pytest.mark.costly
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: str(scenario.name))
def test_no_promise_is_broken(scenario: Scenario, tmp_path: Path, nursery: Nursery) -> None:
    seed = int(os.environ.get("CRONOGRAPH_CHAOS_SEED", random.SystemRandom().randrange(2**32)))
    print(f"CRONOGRAPH_CHAOS_SEED={seed}")  # noqa: T201 - pytest shows it when the test fails
    print(play(scenario, seed, SIZE, tmp_path / "stage", nursery))  # noqa: T201 - pytest shows it on request
