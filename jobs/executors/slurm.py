"""The executor ``slurm``: batch jobs of Slurm, by its own commands; no accounting database is needed.

It is ``command`` with the words of ``sbatch``, ``squeue`` and ``scancel``, and with the meaning of their output.
"""

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from typing_extensions import override

from ..core.base.errors import ConfigurationError
from ..core.remote import AT_WORK, EngineState, QueuePlace, Seen
from .command import CommandExecutor
from .protocol import EngineAbsentError, Place, Spec, SubmissionError

_LIST: Final = ("squeue", "--noheader", "--states=all")
_FIND: Final = (*_LIST, "--me", "--format=%j|%T|%r")
_WAITING: Final = ("squeue", "--noheader", "--states=PENDING", "--format=%P|%Q|%i|%j")
_CANCEL: Final = ("scancel", "--me", "--name={name}")
_PENDING: Final = frozenset({"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"})
_ENDED: Final = frozenset({"CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "OUT_OF_MEMORY", "TIMEOUT"})
_GONE: Final = frozenset({"BOOT_FAIL", "NODE_FAIL", "REVOKED"})
_EVICTED: Final = frozenset({"PREEMPTED"})
_ABSENT: Final = re.compile(r"connect(?:ion)? failure", re.IGNORECASE)
"""Words of ``sbatch`` if nobody was there to take the job."""
_UNKNOWN: Final = re.compile(
    r"(?:send|receive|shutdown) failure|timed out|zero bytes|unexpected message|reset by peer", re.IGNORECASE
)
"""Its words if the answer was lost: the controller may have the job."""
_OURS: Final = frozenset(
    {"array", "comment", "export", "job_name", "no_requeue", "output", "parsable", "requeue", "wrap"}
)
"""Options of ``sbatch`` that are not for jobs."""


class SlurmExecutor(CommandExecutor):
    """Hands attempts to Slurm.

    Args:
        options: Further words of ``sbatch`` for every job, e.g. ``["--account=physics"]``.
        output: The file for the text printed before a job begins and after it, e.g. ``/shared/log/%j.txt``.
        directory: Where the code runs; where the node runs unless given.
        python: The interpreter at the engine; that of the node unless given.
        timeout: Seconds that a command of Slurm may take.

    Attributes:
        revives: A controller that broke down may have jobs at work again that were cancelled.
    """

    revives = True

    def __init__(
        self,
        *,
        name: str,
        options: Sequence[str] = (),
        output: str = "/dev/null",
        directory: str | None = None,
        python: str = sys.executable,
        timeout: float = 60.0,
    ) -> None:
        words: Any = options
        if isinstance(words, str) or not all(isinstance(one, str) for one in words):
            raise ConfigurationError(f"executor '{name}': options must be a list of words, got {options!r:.60}")
        self._first = ("sbatch", "--parsable", *options)
        self._last = (
            "--job-name={name}", "--comment=cronograph run {run} attempt {attempt}: {job}", "--no-requeue",
            "--export=ALL", f"--output={output}", *(() if directory is None else (f"--chdir={directory}",)),
        )  # fmt: skip
        super().__init__(
            name=name,
            launch=self._first,
            find=_FIND,
            look=(*_LIST, "--me", "--name={name}", "--format=%A"),
            cancel=_CANCEL,
            # Of a job that has ended it does nothing; one that is left must not begin.
            forget=_CANCEL,
            python=python,
            timeout=timeout,
        )

    @override
    def launch_of(self, spec: Spec) -> Sequence[str]:
        """Put together ``sbatch`` with the needs of an attempt; the last option counts."""
        needs = spec.resources
        refused = sorted(set(needs.options) & _OURS)
        if refused:
            raise SubmissionError(f"the option '{refused[0]}' of sbatch is not for jobs")
        words = [f"--{name.replace('_', '-')}={value}" for name, value in needs.options.items()]
        words += [] if needs.cpus is None else [f"--cpus-per-task={math.ceil(needs.cpus)}"]
        words += [] if needs.memory is None else ["--mem={memory_mb}M"]
        words += [] if needs.gpus is None else ["--gres=gpu:{gpus}"]
        words += [] if needs.queue is None else ["--partition={queue}"]
        words += [] if needs.image is None else ["--container={image}"]
        return [*self._first, *words, *self._last, "--wrap=exec {command}"]

    @override
    def submit(self, spec: Spec) -> str:
        """Submit a batch job; return its number."""
        try:
            # With several clusters it is followed by the name of the one that has it.
            return super().submit(spec).partition(";")[0]
        except SubmissionError as error:
            if _ABSENT.search(str(error)):
                raise EngineAbsentError(str(error)) from error
            if _UNKNOWN.search(str(error)):
                raise TimeoutError(str(error)) from error
            raise

    @override
    def find(self, places: Sequence[Place]) -> Mapping[str, Seen]:
        """Have Slurm list its jobs; a controller that broke down may have some that were cancelled.

        While some of them wait, a second call lists the jobs of all users that wait.
        """
        if places:
            found = super().find(places)
            if not any(one.state is EngineState.PENDING for one in found.values()):
                return found
            queue = _queue(self._run(_WAITING, {}))
            return {name: replace(one, place=queue.get(name)) for name, one in found.items()}
        return {name: one for name, one in self.listed(self._run(_FIND, {})).items() if one.state in AT_WORK}

    @override
    def listed(self, output: str) -> Mapping[str, Seen]:
        """Read the answer of ``squeue``, which has ended jobs for some minutes.

        Jobs go by their names: a controller that was killed may give the number of one that it has forgotten to
        another. Of two with one name, the one at work counts.
        """
        found: dict[str, Seen] = {}
        for name, state, reason in (line.split("|", 2) for line in output.splitlines() if line.count("|") >= 2):
            if name not in found or found[name].state not in AT_WORK:
                found[name] = _seen(state, reason)
        return found

    @override
    def check(self) -> Sequence[str]:
        """Say which programs are not there, or that no controller answers."""
        missing = super().check()
        if missing:
            return missing
        try:
            self.find([])
        except (SubmissionError, OSError) as error:
            return [f"squeue: {error}"]
        return []


def _queue(output: str) -> dict[str, QueuePlace]:
    """Return the places of jobs among those that wait in their partition, by name: high priority comes first.

    One that waits in several partitions stands where it comes first.
    """
    waiting: dict[str, list[tuple[int, int, str]]] = {}
    for line in output.splitlines():
        partitions, priority, job, name = (line.split("|", 3) + [""] * 3)[:4]
        if priority.isdecimal() and (number := job.partition("_")[0]).isdecimal():
            for partition in partitions.split(","):
                waiting.setdefault(partition, []).append((-int(priority), int(number), name))
    found: dict[str, QueuePlace] = {}
    for jobs in waiting.values():
        for position, (_, _, name) in enumerate(sorted(jobs), 1):
            if name not in found or position < found[name].position:
                found[name] = QueuePlace(position, len(jobs))
    return found


def _seen(state: str, reason: str) -> Seen:
    words = state if reason in ("None", "") else f"{state} ({reason})"
    if state in _PENDING:
        return Seen(EngineState.PENDING, words)
    if state in _GONE:
        return Seen(EngineState.GONE, words)
    if state in _EVICTED:
        return Seen(EngineState.EVICTED, words)
    return Seen(EngineState.ENDED if state in _ENDED else EngineState.RUNNING, words)
