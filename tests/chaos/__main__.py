"""``make chaos``: play every scenario for minutes, and print what happened. ``CHAOS_ARGS="--seed 7 --minutes 3"``."""

import argparse
import ctypes
import os
import random
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from tests.chaos.play import RUNS, Size, play
from tests.chaos.scenarios import EVERYTHING, SCENARIOS
from tests.support.forking import Nursery

ALL = (*SCENARIOS, EVERYTHING)
_CLONE_NEWNS = 0x00020000
"""For ``unshare(2)``: mounts of its own."""


def see_own_mounts() -> None:
    """Let what a play mounts end with its processes, however those end; without the right to mount nothing is."""
    if os.geteuid() == 0 and ctypes.CDLL(None).unshare(_CLONE_NEWNS) == 0:
        subprocess.run(["mount", "--make-rprivate", "/"], capture_output=True, check=True)


def main(arguments: list[str]) -> int:
    """Play; the status is 1 when a promise was broken."""
    names = [scenario.name for scenario in ALL]
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32), help="repeats a play")
    parser.add_argument("--minutes", type=float, default=6.0, help="for all scenarios together; 6 unless given")
    parser.add_argument(
        "--runs", type=int, default=RUNS, help=f"at engines, however long it takes; {RUNS} unless given"
    )
    parser.add_argument("--scenario", choices=names, action="append", help="only this one (repeatable)")
    parser.add_argument("--keep", type=Path, help="a folder to leave the output of the nodes in")
    chosen = parser.parse_args(arguments)
    scenarios = [one for one in ALL if one.name in (chosen.scenario or names)]
    seconds = chosen.minutes * 60 / len(scenarios)
    failed: list[str] = []
    # What it has forked ends with this process, however that ends: nodes, and what their engines have started.
    nursery = Nursery("commands")
    with tempfile.TemporaryDirectory(prefix="cronograph-chaos-") as temporary, closing(nursery):
        folder = chosen.keep or Path(temporary)
        for scenario in scenarios:
            print(f"{scenario.name}: seed {chosen.seed}, {seconds:.0f} s", flush=True)
            place = folder / scenario.name.replace(" ", "-")
            try:
                size = Size(seconds=seconds, runs=chosen.runs)
                print(f"  {play(scenario, chosen.seed, size, place, nursery)}", flush=True)
            except Exception as error:  # noqa: BLE001 - the other scenarios are played all the same
                failed.append(scenario.name)
                print(f"  BROKEN by seed {chosen.seed}: {type(error).__name__}: {error}", flush=True)
    if failed:
        print(f"broken: {', '.join(failed)}; repeat with CHAOS_ARGS='--seed {chosen.seed} --scenario …'")
    return 1 if failed else 0


if __name__ == "__main__":
    see_own_mounts()
    sys.exit(main(sys.argv[1:]))
