"""The engines of a play: a launcher by HTTP, one by a folder, Slurm, a small Kubernetes, and the line to the nodes."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from tests.chaos.proxy import Line
from tests.support.kubernetes import Cluster, serving
from tests.support.slurm import Slurm

LAUNCH = "nohup {command} >>engine.log 2>&1 & echo $!; sleep 0.2"
"""It goes on for a while after it has started an attempt, so that it can be killed between."""
LAUNCHER = {
    "kind": "command",
    "launch": LAUNCH,
    "find": "for one in {handles}; do kill -0 $one 2>/dev/null && echo $one; done; true",
    "look": "pgrep -f '^[^ ]*python[^ ]* -m cronograph.remote {name}' | head -1",
    "cancel": "kill -9 {handle}; true",
    "complete": True,
}
LEFT_AT_SLURM = ("squeue", "--noheader", "--states=PENDING,RUNNING,SUSPENDED,COMPLETING", "--format=%j %T")
REMOTE_LEASE, SLOTS = 8.0, 12


class Engines:
    """Everything outside of the nodes that their runs need.

    Args:
        folder: Where the nodes run; the code of their jobs does, too.
        server: The address of a node that lives; raises `OSError` if none does.

    Attributes:
        line: Between the code and the nodes.
        slurm: Real daemons.
        pods: A small Kubernetes.
    """

    def __init__(self, folder: Path, server: Callable[[], tuple[str, int]]) -> None:
        self._folder = folder.resolve()
        for name in ("shared", "slurm"):
            (folder / name).mkdir(mode=0o700)
        with ExitStack() as ends:
            self.line = ends.enter_context(Line(server))
            ends.callback(self._kill_code)
            self.pods = ends.enter_context(serving(Cluster(folder)))
            self.slurm = Slurm(folder / "slurm")
            ends.callback(self.slurm.stop)
            self._ends = ends.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends.close()

    def settings(self) -> dict[str, str]:
        """The environment of nodes."""
        executors = {
            "command": LAUNCHER,
            "box": {**LAUNCHER, "folder": str(self._folder / "shared")},
            "slurm": {"directory": str(self._folder), "output": f"{self._folder}/engine.log"},
            "kubernetes": {
                "kubeconfig": str(self._folder / "kubeconfig"), "image": "app:1", "python": sys.executable,
            },
        }  # fmt: skip
        return {
            "CRONOGRAPH_EXECUTORS": json.dumps(executors),
            "CRONOGRAPH_REMOTE_URL": f"http://127.0.0.1:{self.line.port}",
            "CRONOGRAPH_REMOTE_LEASE": str(REMOTE_LEASE),
            "CRONOGRAPH_REMOTE_POLL": "0.5",
            "CRONOGRAPH_REMOTE_SLOTS": str(SLOTS),
            **self.slurm.environment,
        }

    def launchers(self) -> Iterator[psutil.Process]:
        """The processes that hand an attempt to an engine at this moment."""
        for words, process in self._processes():
            if Path(words[0]).name == "sbatch" or (Path(words[0]).name == "sh" and "nohup" in words[-1]):
                yield process

    def left(self) -> list[str]:
        """What is left of attempts: processes, jobs of Slurm, objects of Kubernetes, folders."""
        code = [
            f"process {process.pid}: {' '.join(words)}"
            for words, process in self._processes()
            if "cronograph.remote" in words
        ]
        jobs = [f"Slurm: {line}" for line in self.slurm.ask(*LEFT_AT_SLURM).splitlines() if line]
        objects = [f"Kubernetes: {kind} {name}" for kind, _, name in list(self.pods.objects)]
        return [*code, *jobs, *objects, *(f"folder {one.name}" for one in (self._folder / "shared").iterdir())]

    def _processes(self) -> Iterator[tuple[list[str], psutil.Process]]:
        """Those that have been started in the folder of the play."""
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                words = process.cmdline()
                if words and Path(process.cwd()) == self._folder:
                    yield words, process

    def _kill_code(self) -> None:
        for words, process in self._processes():
            if _is_code(words):
                with suppress(psutil.Error):
                    process.kill()


def _is_code(words: list[str]) -> bool:
    return words[1:3] == ["-m", "cronograph.remote"]
