"""Job modules are imported, and what goes wrong is said with the place."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cronograph.jobs.registry import default_registry
from cronograph.server.discovery import JobsNotFoundError, import_jobs, without_jobs


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working directory; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    path, before = [*sys.path], set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def faults_of(*modules: str) -> list[str]:
    with pytest.raises(JobsNotFoundError) as caught:
        import_jobs(modules)
    return caught.value.faults


def test_a_module_in_the_working_directory_is_found(folder: Path) -> None:
    (folder / "found_jobs.py").write_text(
        "from cronograph.jobs import job\n\n@job('found_in_folder')\nasync def found() -> None: ...\n"
    )
    import_jobs(["found_jobs"])
    assert "found_in_folder" in default_registry().names()


def test_a_module_without_a_job_is_distinguished_from_those_that_define_or_import_one(folder: Path) -> None:
    (folder / "own_pkg").mkdir()
    (folder / "own_pkg" / "__init__.py").write_text("from . import part")
    (folder / "own_pkg" / "part.py").write_text(
        "from cronograph.jobs import job\n\n@job('of_a_part')\nasync def of_a_part() -> None: ...\n"
    )
    (folder / "importing_jobs.py").write_text("from own_pkg.part import of_a_part\n")
    (folder / "no_jobs.py").write_text("async def forgotten() -> None: ...\n")
    modules = ["own_pkg", "own_pkg.part", "importing_jobs", "no_jobs", "sched"]
    import_jobs(modules)
    assert without_jobs(modules, default_registry()) == ["no_jobs", "sched"]


def test_the_working_directory_is_searched_last(folder: Path) -> None:
    import_jobs([])
    assert sys.path[-1] == str(folder)


def test_every_unknown_module_is_named(folder: Path) -> None:
    first, second = faults_of("no_such_module", "nor_this.one")
    assert first == (
        "jobs: must be modules that can be imported, got 'no_such_module'; "
        f"'no_such_module' is neither installed nor in the working directory ({folder})"
    )
    assert "'nor_this' is neither installed" in second


def test_a_missing_submodule_is_named(folder: Path) -> None:
    (folder / "shop_pkg").mkdir()
    (folder / "shop_pkg" / "__init__.py").touch()
    (fault,) = faults_of("shop_pkg.missing")
    assert "'shop_pkg.missing' is neither installed" in fault


def test_a_submodule_of_a_module_that_is_no_package_is_named(folder: Path) -> None:
    (folder / "plain_jobs.py").touch()
    (fault,) = faults_of("plain_jobs.part")
    assert "'plain_jobs.part' is neither installed" in fault


def test_an_error_in_a_package_is_reported_with_its_line_when_a_submodule_is_named(folder: Path) -> None:
    (folder / "broken_pkg").mkdir()
    (folder / "broken_pkg" / "__init__.py").write_text("1 / 0\n")
    (folder / "broken_pkg" / "part.py").touch()
    (fault,) = faults_of("broken_pkg.part")
    assert "importing module 'broken_pkg.part' failed: ZeroDivisionError: division by zero" in fault
    assert f"({folder / 'broken_pkg' / '__init__.py'}, line 1)" in fault


def test_an_error_in_a_module_is_reported_with_its_line(folder: Path) -> None:
    (folder / "broken_jobs.py").write_text("import json\n\n1 / 0\n")
    (fault,) = faults_of("broken_jobs")
    assert fault == (
        "jobs: importing module 'broken_jobs' failed: ZeroDivisionError: division by zero "
        f"({folder / 'broken_jobs.py'}, line 3)"
    )


def test_a_fault_that_we_find_is_reported_with_the_line_that_called_us(folder: Path) -> None:
    (folder / "broken_reuse.py").write_text("from cronograph.jobs import Reuse\n\nREUSE = Reuse()\n")
    (fault,) = faults_of("broken_reuse")
    assert fault == (
        "jobs: importing module 'broken_reuse' failed: ValueError: reuse: needs a limit, e.g. Reuse(runs=100) or "
        f"Reuse(age='1h') ({folder / 'broken_reuse.py'}, line 3)"
    )


def test_a_missing_import_inside_a_module_is_not_taken_for_the_module(folder: Path) -> None:
    (folder / "needs_more.py").write_text("import no_such_dependency\n")
    (fault,) = faults_of("needs_more")
    assert "importing module 'needs_more' failed: ModuleNotFoundError: No module named 'no_such_dependency'" in fault


def test_a_syntax_error_is_reported_with_its_line(folder: Path) -> None:
    (folder / "bad_syntax.py").write_text("def x(:\n")
    (fault,) = faults_of("bad_syntax")
    assert "SyntaxError" in fault
    assert fault.endswith("bad_syntax.py, line 1)")


def test_a_module_that_ends_the_process_is_reported(folder: Path) -> None:
    (folder / "exits.py").write_text("import sys\nsys.exit(3)\n")
    assert "SystemExit: 3" in faults_of("exits")[0]


def test_two_jobs_of_one_name_are_refused_with_both_places(folder: Path) -> None:
    text = "from cronograph.jobs import job\n\n@job('same_name')\nasync def f() -> None: ...\n"
    (folder / "one_place.py").write_text(text)
    (folder / "other_place.py").write_text(text)
    (fault,) = faults_of("one_place", "other_place")
    assert "one_place.py:3" in fault
    assert "other_place.py:3" in fault


def test_a_decorator_without_its_name_registers_under_that_of_the_function(folder: Path) -> None:
    (folder / "nameless_jobs.py").write_text("from cronograph.jobs import job\n\n@job\ndef tidy_up() -> None: ...\n")
    import_jobs(["nameless_jobs"])
    assert "tidy_up" in default_registry().names()
