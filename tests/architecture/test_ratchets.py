"""The numbers of `ratchets` may fall and never rise."""

import pytest

from tests.architecture.ratchets import (
    MOST,
    NO_VERB,
    RELATIVE,
    docstrings_of_functions,
    imported,
    measured,
    small_with_one_importer,
    table,
)
from tests.docs.messages import messages_of
from tests.support.sources import Source


@pytest.mark.timeout(180)  # reads all sources: four seconds of a processor
def test_no_number_rises() -> None:
    found = measured()
    print(table(found))  # noqa: T201 - shown with `-s`, and when a number has risen
    assert {name: number for name, number in found.items() if number > MOST[name]} == {}
    assert found.keys() == MOST.keys()


def test_a_small_module_that_two_others_import_is_not_counted() -> None:
    sources = [
        Source("jobs/a.py", "from .own import x\nfrom .shared import y\n"),
        Source("jobs/deep/b.py", "from .. import shared\nfrom ..long import z\n"),
        Source("jobs/own.py", "x = 1\n"),
        Source("jobs/shared.py", "y = 1\n"),
        Source("jobs/long.py", "z = 1\n" * 80),
    ]
    assert small_with_one_importer(sources) == ["jobs/own.py"]


@pytest.mark.parametrize(
    ("file", "statement", "module"),
    [
        ("jobs/deep/b.py", "from . import c", "jobs.deep.c"),
        ("jobs/deep/b.py", "from ..a import name", "jobs.a"),
        ("jobs/deep/__init__.py", "from .c import name", "jobs.deep.c"),
        ("jobs/a.py", "from . import deep", "jobs.deep"),
    ],
)
def test_a_relative_import_is_resolved(file: str, statement: str, module: str) -> None:
    known = {name: Source(name, "") for name in ("jobs.a", "jobs.deep", "jobs.deep.b", "jobs.deep.c")}
    assert imported(Source(file, statement), known) == {module}


@pytest.mark.parametrize(
    ("text", "found"),
    [("What was started.", True), ("\n    How long.", True), ("Whatever", False), ("Return what is left.", False)],
)
def test_a_docstring_that_begins_with_a_relative_word_is_found(text: str, found: bool) -> None:
    assert (RELATIVE.match(text) is not None) is found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        *((text, True) for text in ("The runs.", "A run.", "Deletes a run.", "Rows.", "``put`` for many.", "200 OK.")),
        *((text, False) for text in ("Return runs.", "Pass it on.", "Re-run it.", "Let go.", "Atone.", "Index.")),
    ],
)
def test_a_docstring_that_begins_with_no_verb_is_found(text: str, found: bool) -> None:
    assert (NO_VERB.match(text) is not None) is found


def test_docstrings_that_describe_fields_properties_and_jobs_need_no_verb() -> None:
    heads = ("@property\ndef a()", "@resolved()\ndef b()", "def c(x: JobContext)", "@cache\ndef d()", "def e()")
    source = Source("jobs/a.py", "\n".join(f'{head}:\n    """{head}"""' for head in heads))
    assert list(docstrings_of_functions(source.tree)) == ["@cache\ndef d()", "def e()"]


def test_messages_are_found_in_a_module_and_docstrings_are_none() -> None:
    source = Source("jobs/a.py", '"""Say what it does here."""\nraise ValueError(f"{name} must be a whole number")\n')
    assert [text for _, text in messages_of(source)] == ["it must be a whole number"]
