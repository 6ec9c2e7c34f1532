"""What can go wrong at engines and on the way to them: each disturbance leaves them as they were."""

import time
from contextlib import suppress
from typing import Final

import psutil

from tests.chaos.stage import Stage
from tests.support.waiting import let_pass

LAUNCHERS: Final = 3
"""So many launchers are killed at the most, one after the other."""
PATIENCE: Final = 3.0
"""Seconds for which somebody waits for launchers."""


def kill_controller(stage: Stage) -> None:
    """The controller of Slurm dies at once, and comes back with what it had saved."""
    slurm = stage.engines.slurm
    slurm.kill_controller()
    stage.pause(0.2, 3.0)
    slurm.start_controller()


def kill_slurm_node(stage: Stage) -> None:
    """The daemon that starts jobs dies at once; what runs goes on."""
    slurm = stage.engines.slurm
    slurm.kill_node()
    stage.pause(0.2, 3.0)
    slurm.start_node()
    # A node at which a job could not be started is put aside until somebody says that it is well.
    slurm.ask("scontrol", "update", "nodename=worker", "state=resume")


def kill_launchers(stage: Stage) -> None:
    """Launchers die at once, before or after they have started an attempt."""
    over, left = time.monotonic() + PATIENCE, LAUNCHERS
    while left and time.monotonic() < over:
        for one in stage.engines.launchers():
            stage.pause(0.0, 0.1)
            with suppress(psutil.Error):
                one.kill()
                left -= 1
            break
        else:
            let_pass(0.01)


def no_api_server(stage: Stage) -> None:
    """Nobody answers for Kubernetes; its pods go on."""
    pods = stage.engines.pods
    pods.is_absent = True
    stage.pause(0.5, 3.0)
    pods.is_absent = False


def jobs_that_nobody_hears_of(stage: Stage) -> None:
    """Kubernetes makes what it is asked for, and its answers are lost."""
    pods = stage.engines.pods
    pods.loses_answers = True
    stage.pause(0.5, 2.0)
    pods.loses_answers = False


def runs_cut_off(stage: Stage) -> None:
    """Nothing passes between code and nodes, and nobody is told; then everything does, or all connections are gone."""
    line = stage.engines.line
    line.hold()
    stage.pause(0.5, 6.0)
    if stage.chance.random() < 0.5:
        line.cut()
    line.let_go()


def runs_unanswered(stage: Stage) -> None:
    """What code says is stored, and it never hears of it."""
    line = stage.engines.line
    line.lose_answers(stage.chance.randint(5, 20))
    stage.pause(0.5, 2.0)
    line.lose_answers(0)
