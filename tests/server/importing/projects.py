"""What the tests of the importer share: files and projects in a folder, and what is read from them."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cronograph.server.importing.asking import ask, read_files
from cronograph.server.importing.model import Carried, Import
from cronograph.server.importing.report import SPAN, summary, tasks_file
from cronograph.server.task_files.reading import read_files as read_task_files

START = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)


def span(start: datetime = START, length: timedelta = SPAN) -> tuple[int, int]:
    return int(start.timestamp()), int((start + length).timestamp())


def read(program: str, *paths: Path, zone: str = "UTC", start: datetime = START, is_system: bool = False) -> Import:
    return read_files(program, paths, zone, span(start), is_system=is_system)


def written(folder: Path, **files: str) -> Path:
    """Write files into a folder; `shop__work.py` is the file `shop/work.py`."""
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch() if path.parent != folder else None
        path.write_text(text, encoding="utf-8")
    return folder


def asked(program: str, app: str, zone: str = "UTC") -> Import:
    return ask(program, app, sys.executable, zone, span())


def tasks(found: Import, folder: Path) -> dict[str, Any]:
    """Return the tasks as `apply` reads them."""
    path = folder / "tasks.yaml"
    path.write_text(tasks_file(found, "imported"))
    (only,) = read_task_files(path).sets
    return {task.name: task.settings for task in only.tasks}


def reasons(found: Import) -> dict[str, str]:
    return {one.text[:28]: one.why for one in found.left_out}


def verdicts(found: Import) -> dict[str, bool | None]:
    return {one["tasks"][0]: one["equal"] for one in summary(found, START)["carried"]}


def named(found: Import, name: str) -> Carried:
    return next(one for one in found.carried if one.name == name)
