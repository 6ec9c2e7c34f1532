"""A back-up of a database while nodes work on it: of one moment, checked, and whole or not there at all."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...jobs.core.base.errors import ConfigurationError, StorageError
from ...jobs.store.db.address import (
    OWNER_ONLY,
    is_pooled,
    is_sqlite,
    parse_url,
    password_of,
    schema_in,
    shown_url,
    sqlite_path,
)
from ...jobs.store.db.sqlite import copy_online

PG_DUMP, PG_RESTORE = "pg_dump", "pg_restore"


@dataclass(frozen=True, slots=True)
class Backup:
    """One that was made.

    Attributes:
        file: Where it is; only its owner may read it.
        size: In bytes.
        line: The command that made it, without a password; None for a SQLite file.
    """

    file: Path
    size: int
    line: str | None


def back_up(database_url: str, target: Path) -> Backup:
    """Make a back-up of a database that is there.

    Raises:
        ConfigurationError: there is a file of that name, no folder for it, or a pooler in between.
        StorageError: the database cannot be read, or the back-up not be written; then nothing is left of it.
    """
    target = target.absolute()
    if target.exists():
        raise ConfigurationError(f"back-up '{target}': must be a new file; name another one, or move this one away")
    if not target.parent.is_dir():
        raise ConfigurationError(f"back-up '{target}': must be in a folder that is there, '{target.parent}' is not")
    url = parse_url(database_url)
    if is_sqlite(url):
        return Backup(target, copy_online(sqlite_path(url), target), None)
    if is_pooled(url):
        raise ConfigurationError("database URL: pg_dump must reach the server itself, not a pooler; name its address")
    return _dump(shown_url(url), password_of(url), schema_in(url), target)


def _dump(address: str, password: str | None, schema: str, target: Path) -> Backup:
    partial = target.with_name(f"{target.name}.partial")
    words = [PG_DUMP, "--format=custom", f"--schema={schema}", "--no-password"]
    line = shlex.join([*words, f"--file={target}", f"--dbname={address}"])
    # Not among the arguments, which every account of the machine can read.
    environment = {**os.environ, **({} if password is None else {"PGPASSWORD": password})}
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
    except OSError as error:
        raise StorageError(f"back-up '{partial}': must be a new file that can be written: {error.strerror}") from None
    try:
        _run([*words, f"--file={partial}", f"--dbname={address}"], environment, line)
        # Reads the list of what is in it, which a dump that was broken off does not have.
        _run([PG_RESTORE, "--list", str(partial)], environment, line)
        size = partial.stat().st_size
        partial.rename(target)
    finally:
        partial.unlink(missing_ok=True)
    return Backup(target, size, line)


def _run(words: list[str], environment: Mapping[str, str], line: str) -> None:
    program = shutil.which(words[0], path=environment.get("PATH"))
    if program is None:
        raise StorageError(
            f"{words[0]}: is not on this machine; install the client of PostgreSQL (apt-get install "
            f"postgresql-client), or run this where it is: {line}"
        )
    done = subprocess.run(  # noqa: S603 - no shell, and the words are ours
        [program, *words[1:]], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        stderr = " ".join(done.stderr.split())
        raise StorageError(f"{words[0]} failed with status {done.returncode}: {stderr}; the line was: {line}")
