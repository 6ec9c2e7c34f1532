"""Run Django's own tests of task backends (`tests/tasks` of its sources) with Cronograph in the place of its backends.

A program for an interpreter that has Cronograph with Django 6, or with Django 5.2 and ``django-tasks``: ``python
contract.py FOLDER`` of Django's sources; 5.2 needs those of 6, whose tests then name ``django_tasks``. Each test has a
queue of its own. Where the tests name the dummy backend, runs wait; where they name the immediate one, each
is carried out by ``drain`` as soon as it is enqueued.
"""

import asyncio
import re
import sys
import tempfile
import types
import unittest
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import django
from django.conf import settings
from django.test import SimpleTestCase
from django.test.utils import setup_test_environment

from cronograph.jobs.testing import Queue, drain, drain_sync

LEFT_OUT: Final[Mapping[tuple[str, str], str]] = {
    ("test_dummy_backend", "test_refresh_result"): "changes a result in the memory of the dummy backend",
    ("test_dummy_backend", "test_refresh_result_async"): "changes a result in the memory of the dummy backend",
    ("test_dummy_backend", "test_clear"): "only the dummy backend forgets what was enqueued",
    ("test_immediate_backend", "test_throws_keyboard_interrupt"): "a node does not run tasks where they are enqueued",
    ("test_immediate_backend", "test_cannot_get_result"): "the immediate backend keeps no results",
    ("test_immediate_backend", "test_cannot_refresh_result"): "the immediate backend keeps no results",
    ("test_immediate_backend", "test_cannot_pass_run_after"): "the immediate backend cannot wait",
}
"""Tests of what only a backend of Django's does, or cannot do, each with the reason."""
MODULES: Final = ("test_tasks", "test_dummy_backend", "test_immediate_backend", "test_custom_backend")
NAMES: Final = {
    "django.tasks.backends.dummy.DummyBackend": "ours.DummyBackend",
    "django.tasks.backends.immediate.ImmediateBackend": "ours.ImmediateBackend",
    "from django.tasks.backends.dummy import": "from ours import",
    "from django.tasks.backends.immediate import": "from ours import",
}
"""The words of these tests that name the backends, and ours."""
BACKPORT: Final = {
    r"django\.tasks": "django_tasks",
    r"\b(InvalidTask(?:Backend)?)\b": r"\1Error",
    "support async Tasks": "support async tasks",
}
"""Words of Django 6's tests that differ in ``django-tasks``, as patterns, and its own."""
QUEUES: Final[list[Queue]] = []
"""That of the test under way."""


class WithQueue(SimpleTestCase):
    """Gives each test a queue."""

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        """Run the test."""
        with Queue() as queue:
            QUEUES.append(queue)
            try:
                return super().run(result)
            finally:
                QUEUES.pop()


def backends() -> types.ModuleType:
    """Return a module with the backends that stand for Django's; it needs Django to be set up."""
    base: Any = __import__("cronograph.django", fromlist=["TaskBackend"]).TaskBackend
    ours: Any = types.ModuleType("ours")

    def results(self: Any) -> list[Any]:
        return [self.get_result(str(run.id)) for run in QUEUES[-1].enqueued()]

    def enqueue(self: Any, task: Any, args: Any, kwargs: Any) -> Any:
        result = base.enqueue(self, task, args, kwargs)
        drain_sync(QUEUES[-1])
        return self.get_result(result.id)

    async def aenqueue(self: Any, task: Any, args: Any, kwargs: Any) -> Any:
        result = await asyncio.to_thread(base.enqueue, self, task, args, kwargs)
        await drain(QUEUES[-1])
        return await self.aget_result(result.id)

    waiting = {"results": property(results), "clear": lambda self: None}  # noqa: ARG005 - each test has a queue
    ours.DummyBackend = type("DummyBackend", (base,), {"__module__": "ours", **waiting})
    at_once = {"enqueue": enqueue, "aenqueue": aenqueue}
    ours.ImmediateBackend = type("ImmediateBackend", (base,), {"__module__": "ours", **at_once})
    module: types.ModuleType = ours
    return module


def tests_of(path: Path) -> Iterator[Any]:
    """Yield the tests of a module of Django's, with our backends in it."""
    text = path.read_text(encoding="utf-8")
    module = types.ModuleType(f"tasks.{path.stem}")
    module.__package__ = "tasks"
    sys.modules[module.__name__] = module
    exec(compile(text, str(path), "exec"), module.__dict__)
    for name, kind in list(module.__dict__.items()):
        if isinstance(kind, type) and issubclass(kind, unittest.TestCase) and kind.__module__ == module.__name__:
            mixed: Any = type(name, (WithQueue, kind), {})
            tests: Any = unittest.defaultTestLoader.loadTestsFromTestCase(mixed)
            for test in tests:
                if (path.stem, test.id().rpartition(".")[2]) not in LEFT_OUT:
                    yield test


def copied(sources: Path, into: Path) -> Path:
    """Copy the tests of task backends from Django's sources, with our words in them; return their folder."""
    folder = into / "tasks"
    folder.mkdir()
    for path in sorted((sources / "tests" / "tasks").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        for old, new in NAMES.items():
            text = text.replace(old, new)
        if django.VERSION < (6,):
            for pattern, new in BACKPORT.items():
                text = re.sub(pattern, new, text)
        (folder / path.name).write_text(text, encoding="utf-8")
    return folder


def run(sources: Path, into: Path) -> int:
    """Run the tests of these sources from a copy in an empty folder; the exit status."""
    tests = copied(sources, into)
    sys.path.insert(0, str(into))
    settings.configure(
        SECRET_KEY="for tests only",
        INSTALLED_APPS=["cronograph.django", "tasks"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        TASKS={"default": {"BACKEND": "cronograph.django.TaskBackend", "QUEUES": []}},
        USE_TZ=True,
    )
    django.setup()
    setup_test_environment()
    sys.modules["ours"] = backends()
    suite = unittest.TestSuite(test for name in MODULES for test in tests_of(tests / f"{name}.py"))
    left_out = "".join(f"  {name}: {reason}\n" for (_, name), reason in LEFT_OUT.items())
    sys.stderr.write(f"{suite.countTestCases()} tests of Django {django.__version__}; left out are\n{left_out}")
    return 0 if unittest.TextTestRunner().run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as empty:
        sys.exit(run(Path(sys.argv[1]), Path(empty)))
