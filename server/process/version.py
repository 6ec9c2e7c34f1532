"""The version of this installation, and the commit that it was made of."""

import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from ...jobs.core.base.errors import ConfigurationError

DISTRIBUTION = "cronograph"


def installed_version() -> str:
    """Return the version of the installed distribution.

    Raises:
        ConfigurationError: the code runs from a folder without being installed.
    """
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        raise ConfigurationError(
            "cronograph: must be installed, e.g. by `pip install -e '.[server]'` in its source folder"
        ) from None


_FOLDER: Final = Path(__file__).parents[1]


@cache
def commit() -> str | None:
    """Return the commit of this checkout, else the one that was built; None if nobody noted it."""
    if (_FOLDER.parent / ".git").exists():
        try:
            asked = ["git", "-C", str(_FOLDER), "rev-parse", "HEAD"]
            return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
        except (OSError, subprocess.CalledProcessError):
            # What was noted at the installation may be an older one.
            return None
    noted = _FOLDER / "commit.txt"
    return noted.read_text().strip() or None if noted.exists() else None
