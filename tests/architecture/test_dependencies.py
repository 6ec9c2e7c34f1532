"""What the product imports is what `pyproject.toml` declares, neither less nor more."""

import ast
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions

from tests.support.project import OPTIONAL, RUNTIME, TESTING, distribution
from tests.support.sources import PRODUCT_FOLDERS, Source, read_sources

USED_BY_NAME = {
    "httptools": "uvicorn picks it when it is there",
    "psycopg": "SQLAlchemy loads it by the URL; its binary extra spares a compiler",
    "tzdata": "zoneinfo reads it on systems without a time zone database",
    "uvloop": "uvicorn picks it when it is there",
    "websockets": "uvicorn picks it when it is there",
}
"""Declared distributions that no module imports, or need not, each with the reason."""


def imported_modules(source: Source) -> Iterator[str]:
    """The top-level names that a file imports absolutely."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.split(".")[0]


def third_party(*folders: str) -> dict[str, str]:
    """The distributions that the files below these folders import, each with one file that does."""
    distributions = packages_distributions()
    found: dict[str, str] = {}
    for source in read_sources(*folders):
        for module in set(imported_modules(source)) - set(sys.stdlib_module_names):
            names = {distribution(name) for name in distributions.get(module, [])}
            # Of those that share a namespace, the ones that are declared.
            for name in names & (RUNTIME | OPTIONAL) or names:
                found.setdefault(name, source.name)
    return found


def test_every_imported_distribution_is_declared() -> None:
    declared = RUNTIME | {"pydantic-core"}  # a part of pydantic
    undeclared = {name: where for name, where in third_party(*PRODUCT_FOLDERS).items() if name not in declared}
    # pytest itself loads the plugin; asgiref is a part of Django, and django-tasks is one of Django 6.
    assert undeclared.keys() <= OPTIONAL | {"asgiref", "django-tasks", "pytest"}
    imported_by_who_has_them = (
        "jobs/integrations/",
        "jobs/testing/pytest.py",
        "server/cli/remote/screen.py",
        "server/django/",
        "server/process/reloading.py",
        "server/process/trace_export.py",
        "server/process/traces.py",
    )
    assert all(where.startswith(imported_by_who_has_them) for where in undeclared.values())


def test_every_declared_distribution_is_used() -> None:
    assert RUNTIME - set(third_party(*PRODUCT_FOLDERS)) - set(USED_BY_NAME) == set()


def test_every_distribution_that_tests_import_is_declared() -> None:
    declared = RUNTIME | TESTING | {"cronograph"}
    assert {name: where for name, where in third_party("tests").items() if name not in declared} == {}
