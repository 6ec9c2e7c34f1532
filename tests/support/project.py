"""What `pyproject.toml` says."""

import re
import tomllib
from collections.abc import Iterable

from tests.support.sources import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
SETUPTOOLS = PYPROJECT["tool"]["setuptools"]

REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+")


def distribution(name: str) -> str:
    """The form in which two spellings of a distribution's name are equal."""
    return re.sub(r"[-_.]+", "-", name).lower()


def named_in(requirements: Iterable[str]) -> set[str]:
    """The distributions that requirements name: `sqlalchemy` for `sqlalchemy[asyncio]>=2.1`."""
    matches = (REQUIREMENT.match(requirement) for requirement in requirements)
    return {distribution(match[0]) for match in matches if match}


CORE = named_in(PROJECT["dependencies"])
"""The distributions that come with every installation: what writes jobs, enqueues and tests them."""

RUNTIME = CORE | named_in(PROJECT["optional-dependencies"]["server"])
"""The distributions that a server needs."""

OPTIONAL = named_in(
    one
    for extra, several in PROJECT["optional-dependencies"].items()
    if extra not in {"test", "server"}
    for one in several
)
"""The distributions of the extras: modules that import them are imported by who has them."""

TESTING = named_in(PROJECT["optional-dependencies"]["test"])
"""The distributions that tests and checks need besides."""
