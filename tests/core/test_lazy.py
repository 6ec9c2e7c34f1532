"""A module that is imported at its first use is the module then, and what it has not is missed as from the module."""

import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Thread

import pytest

from cronograph.jobs.core.base.lazy import LazyModule, load

NAME = "module_for_later"


@pytest.fixture
def later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LazyModule]:
    """A module that nobody has imported."""
    (tmp_path / f"{NAME}.py").write_text("answer = object()\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield LazyModule(NAME)
    sys.modules.pop(NAME, None)


def test_it_is_imported_when_something_of_it_is_used(later: LazyModule) -> None:
    assert NAME not in sys.modules
    found = later.answer
    assert found is sys.modules[NAME].answer
    assert later.answer is found


def test_it_can_be_brought_before(later: LazyModule) -> None:
    load(sys, later)
    assert NAME in sys.modules


def test_threads_that_use_it_at_once_get_one_module(later: LazyModule) -> None:
    together, found = Barrier(8), list[object]()

    def use() -> None:
        together.wait()
        found.append(later.answer)

    threads = [Thread(target=use) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 8
    assert set(found) == {later.answer}


def test_what_is_not_there_is_missed(later: LazyModule) -> None:
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = later.nothing_like_it
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _ = LazyModule("no_such_module").answer
