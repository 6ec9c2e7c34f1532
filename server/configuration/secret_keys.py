"""The keys of secrets: from a setting, a file, or with SQLite a file next to the database, made at need."""

import os
from pathlib import Path

from ...jobs.accounts.actions.secrets import fresh_key
from ...jobs.accounts.rules.secrets import KeyRing, KeySource, no_keys, parse_keys
from ...jobs.core.base.errors import ConfigurationError
from ...jobs.store.db.database import parse_url, sqlite_path
from .settings import Settings


def key_source(settings: Settings) -> KeySource:
    """Return the keys of this process; a file is read whenever they are needed, so that a rotation needs no restart."""
    if settings.secret_key is not None:
        ring = parse_keys(settings.secret_key.get_secret_value())
        return lambda: ring
    path = key_file(settings)
    if path is None:
        return no_keys
    if settings.secret_key_file is None and not path.exists():
        return lambda: _made(path)
    return lambda: read_keys(path)


def key_file(settings: Settings) -> Path | None:
    """Return the file that holds the keys; None where a setting does, or nothing."""
    if settings.secret_key is not None:
        return None
    if settings.secret_key_file is not None:
        return settings.secret_key_file
    url = parse_url(settings.database_url)
    if url.get_backend_name() != "sqlite":
        return None
    path = sqlite_path(url)
    return path.with_name(f"{path.name}.secret-key")


def read_keys(path: Path) -> KeyRing:
    """Return the keys in a file.

    Raises:
        ConfigurationError: it cannot be read, or holds something else; names it and shows nothing of it.
    """
    try:
        return parse_keys(path.read_text("ascii"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigurationError(f"'{path}' must be a file with keys of secrets: {why}") from None
    except ConfigurationError as error:
        raise ConfigurationError(f"'{path}': {error}") from None


def write_keys(path: Path, ring: KeyRing) -> None:
    """Write keys into a file that only its owner may read, and replace its contents all at once."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    _write_new(new, ring)
    new.replace(path)


def _made(path: Path) -> KeyRing:
    """Return the keys in a file, which is made with one key if it is not there."""
    if not path.exists():
        new = path.with_name(f"{path.name}.{os.getpid()}")
        new.unlink(missing_ok=True)
        _write_new(new, KeyRing((fresh_key(),)))
        try:
            # Whole or not at all, and never over one that another process has just made.
            path.hardlink_to(new)
        except FileExistsError:
            pass
        finally:
            new.unlink()
    return read_keys(path)


def _write_new(path: Path, ring: KeyRing) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write("".join(f"{key.text}\n" for key in ring.keys))
        file.flush()
        os.fsync(file.fileno())
