"""The version of this installation."""

from importlib.metadata import PackageNotFoundError, version

from ...jobs.core.base.errors import ConfigurationError

DISTRIBUTION = "cronograph"


def installed_version() -> str:
    """The version of the installed distribution.

    Raises:
        ConfigurationError: the code runs from a folder without being installed.
    """
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        raise ConfigurationError(
            "cronograph: must be installed, e.g. by `pip install -e '.[server]'` in its source folder"
        ) from None
