"""Each statement of the queue is a file with a heading that is true."""

import ast
import re

import pytest
from sqlalchemy import Connection, event, text

from cronograph.jobs import RunSpec
from cronograph.jobs.queue.base import statements
from cronograph.jobs.queue.base.statements import FOLDER, POSTGRES, SQLITE, every, names, statement
from cronograph.jobs.queue.enqueue.enqueue import enqueue_sync
from cronograph.jobs.store.db import outbox
from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.db.dialect import is_postgresql
from cronograph.jobs.store.schema.tables import metadata
from tests.support.sources import ROOT, Source

ALL = [(database, name) for database in (POSTGRES, SQLITE) for name in names(database)]
ROOM = ROOT / "jobs" / "queue"
every_statement = pytest.mark.parametrize(("database", "name"), ALL)


def part(heading: str, title: str) -> str:
    """Return what a heading says behind ``title``, until the next title."""
    found = re.search(rf"^{title}:(.*?)(?=^[A-Z][a-z ]+:|\Z)", heading, re.MULTILINE | re.DOTALL)
    assert found, f"no {title}"
    return found[1]


def test_there_are_statements_for_both_databases() -> None:
    assert len(names(POSTGRES)) > 10
    assert len(names(SQLITE)) > 10


@every_statement
def test_a_heading_begins_with_a_sentence(database: str, name: str) -> None:
    first = statement(database, name).heading.split("\n\n")[0].split("\n")[0]
    assert re.match(r"[A-Z][^.]*(\.|$)", first), first


@every_statement
def test_a_heading_names_the_parameters_of_its_statement(database: str, name: str) -> None:
    found = statement(database, name)
    listed = re.findall(r"^  (\w[\w, ]*):", part(found.heading, "Parameters"), re.MULTILINE)
    named = {one.strip() for line in listed for one in line.split(",")}
    # What follows in a line belongs to the parameter before it.
    assert named == set(found.parameters)


@every_statement
def test_a_heading_names_indexes_that_exist(database: str, name: str) -> None:
    known = {str(index.name) for table in metadata.tables.values() for index in table.indexes}
    keys = {f"pk_{table.name}" for table in metadata.tables.values()}
    for index in part(statement(database, name).heading, "Index").replace("\n", " ").split(","):
        name_of_index = index.strip()
        assert (
            name_of_index in known | keys
            or name_of_index.startswith("sqlite_autoindex_")
            or name_of_index.removeprefix("rowid of ") in {table.name for table in metadata.tables.values()}
        ), name_of_index


@pytest.mark.costly
@every_statement
def test_a_heading_names_the_function_that_sends_it(database: str, name: str) -> None:
    module, function = part(statement(database, name).heading, "Called by").strip().split(".")
    (path,) = ROOM.rglob(f"{module}.py")
    source = Source(path.name, path.read_text())
    assert function in {node.name for _, node in source.functions()}
    texts = {node.value for node in ast.walk(source.tree) if isinstance(node, ast.Constant)}
    assert name in texts, f"{module}.py does not name {name}"


def test_every_statement_of_the_room_is_a_file() -> None:
    marked = re.compile(r"\b(INSERT INTO|UPDATE cronograph|WITH RECURSIVE|DELETE FROM)\b")
    assert [path.name for path in ROOM.rglob("*.py") if marked.search(path.read_text())] == []


def test_what_a_row_of_an_event_is_made_of_stands_in_one_place() -> None:
    writing = [path.name for path in FOLDER.rglob("*.sql") if "INSERT INTO cronograph.event " in path.read_text()]
    assert writing == []
    row = re.sub(r"\n +", "\n", outbox.EVENT_WRITTEN)
    written = {name for name in names(POSTGRES) if row in statement(POSTGRES, name).text}
    assert {"claim_lane", "end_successes", "insert_run", "insert_runs"} <= written


@pytest.mark.postgres
def test_psycopg_remembers_the_statement_for_one_run(postgres_url: str) -> None:
    engine, sent = sync_engine(parse_url(postgres_url)), list[str]()

    def note(_conn: object, _cursor: object, words: str, *_rest: object) -> None:
        sent.append(words)

    event.listen(engine, "before_cursor_execute", note)
    with engine.begin() as conn:
        enqueue_sync(conn, RunSpec("j", {"number": 1}))
    engine.dispose()
    (words,) = sent
    longest = words.replace("cronograph.", "c" * 40 + ".")
    assert len(longest) <= 4096


def test_each_statement_can_be_planned(conn: Connection) -> None:
    database = POSTGRES if is_postgresql(conn) else SQLITE
    for one in every(database):
        assert statements.plan(conn, one.name, one.form), one


@pytest.mark.parametrize("name", names(SQLITE))
def test_what_writes_begins_with_the_word_by_which_the_driver_of_sqlite_begins_a_transaction(name: str) -> None:
    written = statement(SQLITE, name).text
    if re.search(r"^(INSERT|UPDATE|DELETE)\b", written, re.MULTILINE):
        assert written.startswith(("INSERT", "UPDATE", "DELETE"))


def test_a_form_has_its_own_lines_and_not_those_of_the_plain_one() -> None:
    plain, by_job = (statement(POSTGRES, "candidates", form) for form in (None, "by_job"))
    assert [(one.name, one.form) for one in every(POSTGRES) if one.form] == [
        ("candidates", "by_job"),
        ("insert_run", "audited"),
    ]
    assert not re.search(r"--(if|else|end)\b", plain.text + by_job.text)
    assert ("j.name" in plain.text, "j.name" in by_job.text) == (False, True)
    assert ("r.group_name = g.name" in plain.text, "r.group_name = g.name" in by_job.text) == (True, False)


def test_parameters_are_marked_as_each_driver_wants_them() -> None:
    found = statements.Statement("x", None, "", "SELECT CAST(:a AS text), 5 % 2, :a, now()::date WHERE :b_2 > 1")
    assert found.parameters == ("a", "b_2")
    assert found.for_driver == "SELECT CAST(%(a)s AS text), 5 %% 2, %(a)s, now()::date WHERE %(b_2)s > 1"
    assert str(text(found.text)) == found.text


def test_a_statement_that_is_not_there_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.sql"):
        statement(POSTGRES, "nothing")
