"""Projects that cannot be read are refused in one line."""

import sys
from pathlib import Path

import pytest

from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.server.importing.asking import ask
from tests.server.importing.projects import asked, reasons, written

pytestmark = pytest.mark.costly

BROKEN = {
    "from celery import Celery\napp = Celery()\napp.conf.beat_schedule = 3": "project: beat_schedule is no table",
    "raise ValueError('two\\nlines')": "the import of project failed: ValueError: two lines (*project.py, line 1)",
    "import no_such_module": "the import of project failed: ModuleNotFoundError: No module named 'no_such_module' (",
    "raise SystemExit(3)": "the import of project failed: SystemExit: 3 (",
    "import os; os._exit(3)": "the import of project ended its Python (3): ",
    "def (": "the import of project failed: SyntaxError: ",
    "app = 3": "project is a int, no Celery app; name it: MODULE:NAME",
    "name = 3": "project has no Celery app: ",
    "from celery import Celery\nproject = 3\nred, blue = Celery(), Celery()": None,
}


@pytest.mark.parametrize("source", BROKEN)
def test_a_project_that_cannot_be_read_is_one_line(source: str, here: Path) -> None:
    written(here, project=source)
    said = BROKEN[source]
    if said is None:
        assert asked("celery", "project:red").carried == []
        return
    with pytest.raises(ConfigurationError) as refused:
        asked("celery", "project")
    first, star, last = said.partition("*")
    assert str(refused.value).startswith(f"--app: {first}")
    assert not star or str(refused.value).endswith(last)
    assert "\n" not in str(refused.value)


def test_what_a_project_says_of_its_broker_is_shown_without_passwords(here: Path) -> None:
    address = "redis://ada:hunter2@cache/0?password=hunter2"
    written(here, raises=f"raise OSError('no {address}')", ends=f"import os; os.write(2, b'{address}'); os._exit(1)")
    for app in ("raises", "ends"):
        with pytest.raises(ConfigurationError) as refused:
            asked("celery", app)
        assert "redis://***@cache/0" in str(refused.value)
        assert "hunter2" not in str(refused.value)


def test_a_python_or_a_module_that_is_not_there_is_named(here: Path) -> None:
    fake = here / "python"
    fake.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    fake.chmod(0o755)
    for python, app, why in (
        (str(here / "none"), "project", f"--python: cannot run {here / 'none'}: No such file or directory"),
        (str(fake), "project", "name the project's Python: --python PATH"),
        (sys.executable, "none.py", "--app: there is no file none.py"),
        (sys.executable, str(here), "--app: must be a module such as shop.celery or its file, got the folder"),
        (sys.executable, "work:none", "--app: the module work has no 'none'"),
    ):
        with pytest.raises(ConfigurationError, match=why.replace(".", "[.]")):
            ask("apscheduler", app, python, "UTC", (0, 1))
    assert reasons(asked("apscheduler", "work")) == {}
