"""The output of commands: sentences for people, one JSON object with ``--json``, and an exit code for scripts."""

import json
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Concatenate, Final, ParamSpec, cast

import typer

from ....jobs.core.base.errors import ConfigurationError, CronographError, FileLocked, StorageError, UserError
from ...http.bind import CannotListenError
from ...process.ending import ExitCode
from .options import AsJson, option, with_options

P = ParamSpec("P")


class Refused(CronographError):  # noqa: N818 - an answer, not a malfunction
    """Report a refusal; the message is the server's."""


class UnreachableError(CronographError):
    """The server cannot be reached, or the answer is not from a Cronograph server."""


class Output:
    """Writes the results of one command.

    Args:
        as_json: One JSON object on standard output instead of sentences, errors included.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    def result(self, data: Mapping[str, Any], text: str) -> None:
        """Print the result on standard output: ``data`` for programs, ``text`` for people."""
        print_line(json.dumps(data, default=str) if self.as_json else text)

    def note(self, text: str) -> None:
        """Print something besides the result on standard error, for people only."""
        if not self.as_json:
            sys.stderr.write(f"{text}\n")

    @contextmanager
    def errors(self) -> Generator[None]:
        """Run a command: write an error raised on purpose, and exit with the code of its kind."""
        try:
            yield
        except CronographError as error:
            self.failed(faults_of(error), exit_code_of(error), getattr(error, "warnings", ()))
            raise typer.Exit(exit_code_of(error)) from None

    def failed(self, faults: Sequence[str], code: ExitCode, warnings: Sequence[str] = ()) -> None:
        """Write an error: as JSON on standard output, for people on standard error."""
        if self.as_json:
            print_line(json.dumps({"ok": False, "code": code.name, "errors": list(faults), "warnings": list(warnings)}))
            return
        for sentence in warnings:
            sys.stderr.write(f"warning: {sentence}\n")
        for sentence in faults:
            sys.stderr.write(f"error: {sentence}\n")


AS_JSON: Final = option("as_json", AsJson, default=False)


def answering(command: Callable[Concatenate[Output, P], None]) -> Callable[..., None]:
    """Return a command that takes ``--json`` after its own options, and prints by its first argument, also errors."""

    def speaking(*args: P.args, **given: P.kwargs) -> None:
        output = Output(as_json=cast("dict[str, Any]", given).pop("as_json", False))
        with output.errors():
            command(output, *args, **given)

    return with_options(command, speaking, after=[AS_JSON])


def print_line(text: str) -> None:
    """Write a line to standard output at once, so that a reader of a pipe sees it while the process goes on."""
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # What is left in the buffer would fail again at the end of the process.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.stderr.write(f"error: standard output: cannot be written: {error.strerror}\n")
        raise typer.Exit(ExitCode.REFUSED) from None


def faults_of(error: CronographError) -> list[str]:
    """Return the sentences of an error: one each for those that list several."""
    faults: list[str] | None = getattr(error, "faults", None) if not isinstance(error, UserError) else None
    return faults or [str(error)]


def exit_code_of(error: CronographError) -> ExitCode:
    """Return the exit status for an error."""
    if isinstance(error, (FileLocked, CannotListenError)):
        return ExitCode.IN_USE
    if isinstance(error, (StorageError, UnreachableError)):
        return ExitCode.UNREACHABLE
    return ExitCode.USAGE if isinstance(error, ConfigurationError) else ExitCode.REFUSED
