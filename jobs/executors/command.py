"""The executor ``command``: any launcher of the machine, by the commands that start, list and end something with it.

A command is a list of words, or one text for the shell. In its words these stand for the values of an attempt:
``{command}`` for the code to run, ``{name}``, ``{handle}``, ``{run}``, ``{attempt}``, ``{job}``, ``{cpus}``,
``{memory}`` (bytes), ``{memory_mb}``, ``{gpus}``, ``{image}``, ``{queue}``, and the free options of the job by their
names; ``{names}`` and ``{handles}`` for all that are asked for. A word that is nothing else becomes as many words as it
stands for; in a text for a shell they are quoted.
"""

import errno
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, cast

from ..core.base.errors import ConfigurationError
from ..core.base.resources import Resources
from ..core.remote import EngineState, Seen
from .protocol import EngineAbsentError, Place, Spec, SubmissionError

Template = Sequence[str] | str
_PLACE: Final = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_HANDLE: Final = re.compile(r"\S{1,500}")
_TAIL: Final = 1_000
"""Characters of a command's output that its error shows."""
_STATES: Final = {one.value: one for one in EngineState}
_ABSENT: Final = 75
"""The status of a launcher whose engine is not there at the moment (``EX_TEMPFAIL``)."""
_PASSING: Final = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ETXTBSY})
"""Faults that pass: the machine of the node has no room for a launcher, or it is being replaced."""
_KILLED: Final = 128
"""From this status on a shell says that its command was killed, and ``ssh`` that its connection broke."""
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ssh"})
"""Programs that take a word for a text of a shell."""


class CommandExecutor:
    """Hands attempts to a launcher by its commands.

    Args:
        launch: Starts an attempt; the first word of the last line of its output is the handle, its name if it prints
            nothing. Its own environment has the data for the code.
        find: Lists attempts, one a line: a handle or a name, one of ``pending``, ``running``, ``ended``, ``gone`` and
            ``evicted`` (``running`` unless given), and any further text.
        look: Prints the handle of the attempt that has a name, or nothing.
        forget: Tidies up after one.
        python: The interpreter that ``{command}`` begins with; this one unless given.
        complete: Whether ``find`` lists all that is at work: then an attempt that it leaves out has ended.
        timeout: Seconds that a command may take.
    """

    def __init__(
        self,
        *,
        name: str,
        launch: Template | None = None,
        find: Template | None = None,
        look: Template | None = None,
        cancel: Template | None = None,
        forget: Template | None = None,
        python: str = sys.executable,
        complete: bool = False,
        timeout: float = 60.0,
    ) -> None:
        if launch is None:
            raise ConfigurationError(
                f"executor '{name}': has no launch; say by which command it starts an attempt, e.g. "
                '["sh", "-c", "nohup {command} >/dev/null 2>&1 & echo $!"]'
            )
        self._name = name
        self._launch = _words(name, "launch", launch)
        self._find = _words(name, "find", find)
        self._look = _words(name, "look", look)
        self._cancel = _words(name, "cancel", cancel)
        self._forget = _words(name, "forget", forget)
        self._python = python
        self._complete = complete
        self._timeout = timeout
        self._output = ""
        self._listed: Mapping[str, Seen] = {}

    def submit(self, spec: Spec) -> str:
        """Start the launcher; return its handle."""
        words = {**_named(spec.resources), "command": spec.command(self._python), "name": [spec.name]}
        words |= {"run": [str(spec.run_id)], "attempt": [str(spec.attempt)], "job": [spec.job_name]}
        output = self._run(self.launch_of(spec), words, environment=spec.environment)
        last = (output.strip().splitlines() or [""])[-1].split()
        handle = last[0] if last else spec.name
        if not _HANDLE.fullmatch(handle):
            raise ValueError(f"executor '{self._name}': its launcher printed no handle, but {handle[:60]!r}")
        return handle

    def launch_of(self, spec: Spec) -> Sequence[str]:
        """Return the command that starts an attempt, with places for its words."""
        del spec
        return self._launch

    def find(self, places: Sequence[Place]) -> Mapping[str, Seen]:
        """Have the launcher list attempts."""
        if not self._find or not places:
            return {}
        handles = [one.handle for one in places if one.handle is not None]
        output = self._run(self._find, {"handles": handles, "names": [one.name for one in places]})
        # What goes on is listed as before, over and over.
        if output != self._output:
            self._output, self._listed = output, self.listed(output)
        listed = self._listed
        missing = Seen(EngineState.ENDED, "no longer listed") if self._complete else None
        found: dict[str, Seen] = {}
        for one in places:
            seen = listed.get(one.handle or "") or listed.get(one.name)
            if seen is None and one.handle is not None:
                seen = missing
            if seen is not None:
                found[one.name] = seen
        return found

    def listed(self, output: str) -> Mapping[str, Seen]:
        """Read the launcher's list, by handle or name."""
        return dict(_seen(line) for line in output.splitlines() if line.strip())

    def look(self, place: Place) -> str | None:
        """Ask the launcher for the handle of a name."""
        if not self._look:
            return None
        words = self._run(self._look, {"name": [place.name]}).split()
        return words[0] if words else None

    def cancel(self, place: Place) -> None:
        """Have the launcher end an attempt."""
        self._about(self._cancel, place)

    def forget(self, place: Place) -> bool:
        """Have the launcher tidy up."""
        self._about(self._forget, place)
        return True

    def _about(self, template: Sequence[str], place: Place) -> None:
        if template:
            self._run(template, {"name": [place.name], "handle": [place.handle or place.name]})

    def check(self) -> Sequence[str]:
        """Say which programs are not there, and which commands are not given."""
        missing = [
            f"{command}: there is no program '{words[0]}'"
            for command, words in (
                ("launch", self._launch), ("find", self._find), ("look", self._look), ("cancel", self._cancel),
                ("forget", self._forget),
            )
            if words and shutil.which(words[0]) is None
        ]  # fmt: skip
        if not self._find:
            missing.append("find: is not set, so an attempt that its code says nothing of is lost after remote_lease")
        if not self._look:
            missing.append("look: is not set, so a submission whose answer was lost is not found again")
        if not self._cancel:
            missing.append("cancel: is not set, so code that does not stop when asked to goes on")
        return missing

    def _run(
        self,
        template: Sequence[str],
        words: Mapping[str, Sequence[str]],
        *,
        environment: Mapping[str, str] | None = None,
    ) -> str:
        """Run a command; return its output.

        Raises:
            SubmissionError: it could not be started, or ended with another status than 0.
            EngineAbsentError: there is no room for it at the moment, or it ended with status 75: nobody was there.
            ChildProcessError: it was killed, or lost its connection: nobody knows how far it came.
            TimeoutError: it took too long, and was killed.
        """
        command = _filled(template, words)
        # No pipes: what the launcher leaves at work may hold them open for as long as it lives.
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            try:
                process = subprocess.Popen(  # noqa: S603 - the operator's own command
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors,
                    env={**_without_ours(os.environ), **(environment or {})},
                    start_new_session=True,
                )
            except OSError as error:
                fault = EngineAbsentError if error.errno in _PASSING else SubmissionError
                raise fault(f"'{command[0]}' cannot be started: {error}") from error
            try:
                status = process.wait(self._timeout)
            except subprocess.TimeoutExpired as error:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise TimeoutError(f"'{command[0]}' took more than {self._timeout:g} s") from error
            text, said = _read(output), _read(errors)
        if status != 0:
            raise _fault_of(status)(f"'{command[0]}' ended with status {status}: {(said or text).strip()[-_TAIL:]}")
        return text


def _fault_of(status: int) -> type[Exception]:
    if status < 0 or status >= _KILLED:
        return ChildProcessError
    return EngineAbsentError if status == _ABSENT else SubmissionError


def _without_ours(environment: Mapping[str, str]) -> dict[str, str]:
    """Leave out the variables of the node: neither its keys nor its database are the business of its jobs elsewhere."""
    return {name: value for name, value in environment.items() if not name.startswith("CRONOGRAPH_")}


def _words(name: str, option: str, template: object) -> tuple[str, ...]:
    if template is None:
        return ()
    if isinstance(template, str):
        return ("sh", "-c", template) if template.strip() else ()
    if isinstance(template, list | tuple):
        several = cast("Sequence[Any]", template)
        if several and all(isinstance(one, str) for one in several):
            return tuple(several)
    raise ConfigurationError(f"executor '{name}': {option} must be a list of words or a text, got {template!r:.60}")


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _named(resources: Resources) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: [] for name in ("cpus", "memory", "memory_mb", "gpus", "image", "queue")}
    given = {name: value for name, value in resources.document().items() if not isinstance(value, dict)}
    found |= {name: [f"{value:g}" if isinstance(value, float) else str(value)] for name, value in given.items()}
    if resources.memory is not None:
        found["memory_mb"] = [str(-(-resources.memory // 2**20))]
    return {**found, **{name: [value] for name, value in resources.options.items()}}


def _filled(template: Sequence[str], words: Mapping[str, Sequence[str]]) -> list[str]:
    """Fill in the known placeholders; other braces belong to the command itself."""
    is_shell = Path(template[0]).name in _SHELLS
    join = shlex.join if is_shell else " ".join
    filled: list[str] = []
    for word in template:
        whole = None if is_shell else _PLACE.fullmatch(word)
        if whole is not None and whole[1] in words:
            filled += words[whole[1]]
        else:
            filled.append(_PLACE.sub(lambda found: join(words[found[1]]) if found[1] in words else found[0], word))
    return filled


def _seen(line: str) -> tuple[str, Seen]:
    key, *rest = line.split(None, 2)
    state = _STATES.get(rest[0].lower(), EngineState.RUNNING) if rest else EngineState.RUNNING
    return key, Seen(state, rest[1].strip() if len(rest) > 1 else "")
