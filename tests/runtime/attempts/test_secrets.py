"""A job gets the value of a secret; nobody who reads what it left behind does."""

import base64
import json
from typing import Any

import pytest

from cronograph.jobs.accounts.rules.secrets import KeyRing, SecretKey
from cronograph.jobs.base.hiding import MOST, Redactor, SecretsInUse
from cronograph.jobs.core.base.errors import UserError
from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import RunState
from cronograph.jobs.runtime.job.printing import MOST_HELD, Pieces
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.types import SchemaText
from tests.runtime.secret_jobs import JOBS
from tests.support.dumping import dump
from tests.support.engines import RunningEngine, StartEngine
from tests.support.waiting import eventually

RING = KeyRing((SecretKey.of(b"k" * 32),))
VALUE = 'p4ss/wörd+"& of \\ twenty'
REFERENCE = {"$secret": "key"}
HIDDEN = "[secret key]"
KINDS = ["coroutine", "thread", "process"]
TRACES = (
    VALUE,
    "p4ss",
    base64.b64encode(VALUE.encode()).decode()[:12],
    base64.b64encode(b"user:" + VALUE.encode()).decode()[9:24],
    "p4ss%2Fw%C3%B6rd",
)
"""Parts of the value and of its other forms."""


async def with_secret(start_engine: StartEngine, **changes: Any) -> RunningEngine:
    engine = await start_engine(JOBS, keys=RING, **changes)
    await engine.set_secret("key", VALUE, RING)
    return engine


def assert_silent(engine: RunningEngine) -> None:
    everything = dump(engine.database)
    assert [trace for trace in TRACES if trace in everything] == []
    assert RING.newest.text not in everything


@pytest.mark.parametrize("kind", KINDS)
async def test_a_job_gets_the_value_and_nothing_that_it_says_keeps_it(start_engine: StartEngine, kind: str) -> None:
    engine = await with_secret(start_engine)
    done = await engine.finish(f"tell in a {kind}", {"key": REFERENCE})
    assert done.run.args == {"key": REFERENCE}
    value: Any = done.execution.value
    assert value["key"] == HIDDEN, "the job got the value, or nothing would have been cut out"
    assert value["basic"].startswith("dXNlcj")
    assert value["url"] == f"https://h/?k={HIDDEN}"
    assert HIDDEN in value
    lines = [line.message for line in done.lines]
    assert lines[0] == f"it is {HIDDEN}"
    assert HIDDEN in lines[1]
    assert HIDDEN in str(done.run.progress)
    assert_silent(engine)


@pytest.mark.costly
@pytest.mark.parametrize(("kind", "end"), [*((kind, "raise") for kind in KINDS), ("coroutine", "not json")])
async def test_errors_and_tracebacks_do_not_show_it(start_engine: StartEngine, kind: str, end: str) -> None:
    engine = await with_secret(start_engine)
    done = await engine.finish(f"tell in a {kind}", {"key": REFERENCE, "end": end})
    assert done.run.state is RunState.FAILED
    if end == "raise":
        assert f"cannot use {HIDDEN}" in (done.execution.error_message or "")
        assert HIDDEN in (done.execution.traceback or "")
    assert_silent(engine)


async def test_a_value_that_its_job_cannot_take_is_not_reported_either(start_engine: StartEngine) -> None:
    engine = await with_secret(start_engine)
    done = await engine.finish("needs a number", {"value": REFERENCE})
    assert (done.run.state, done.execution.error_type) == (RunState.FAILED, "ValueError")
    assert_silent(engine)


async def test_what_a_task_uses_is_known_and_follows_the_newest_value(start_engine: StartEngine) -> None:
    engine = await with_secret(start_engine)
    await engine.set_secret("key", "12345678", RING)
    done = await engine.finish("needs a number", {"value": REFERENCE})
    assert done.execution.records_processed == 12345678


async def test_an_attempt_without_its_secret_says_which_one_it_lacks(start_engine: StartEngine) -> None:
    engine = await with_secret(start_engine)
    done = await engine.finish("needs a number", {"value": {"$secret": "keys"}})
    assert (done.execution.outcome, done.execution.error_type) == (Outcome.FAILED, "SecretUnavailable")
    assert done.execution.error_message == "secret 'keys' does not exist; did you mean 'key'?"


async def test_a_node_without_the_right_key_fails_the_run_and_says_why(start_engine: StartEngine) -> None:
    engine = await start_engine(JOBS, keys=KeyRing((SecretKey.of(b"other" * 6 + b"!!"),)))
    await engine.set_secret("key", VALUE, RING)
    done = await engine.finish("tell in a thread", {"key": REFERENCE})
    assert done.execution.error_type == "SecretUnavailable"
    words = f"secret 'key' is encrypted with the key {RING.newest.id}, which this node does not have"
    assert words in (done.execution.error_message or "")


async def test_a_database_that_is_unavailable_is_no_failure_of_the_run(start_engine: StartEngine) -> None:
    engine = await with_secret(start_engine)
    await engine.set_secret("key", "12345678", RING)

    def rename(tx: Tx, old: str, new: str) -> None:
        tx.conn.execute(SchemaText(f"ALTER TABLE cronograph.{old} RENAME TO {new}"))

    await engine.database.write(rename, "secret", "secret_away")
    run_id = await engine.enqueue_unchecked("needs a number", {"value": REFERENCE})

    async def handed_back() -> bool:
        return any(one.outcome is Outcome.HANDED_BACK for one in await engine.executions(run_id))

    await eventually(handed_back, message="an attempt to be handed back")
    await engine.database.write(rename, "secret_away", "secret")
    done = await engine.finished(run_id)
    assert (done.run.state, done.run.failures) == (RunState.SUCCESS, 0)


async def test_references_are_judged_when_a_run_is_submitted_and_when_it_starts(start_engine: StartEngine) -> None:
    engine = await with_secret(start_engine, version_wait=0.0)
    with pytest.raises(UserError, match="must be named as"):
        await engine.enqueue("needs a number", {"value": {"$secret": ["key"]}})
    run = await engine.enqueue_unchecked("tell in a coroutine", {"key": {"$secret": 1}})
    done = await engine.finished(run)
    assert (done.run.state, done.execution.error_type) == (RunState.FAILED, "InvalidArguments")


def test_a_longer_secret_is_hidden_before_one_that_it_contains() -> None:
    redactor = Redactor({"a": "abcdef", "b": "abcdef-ghijkl"})
    assert redactor.text("abcdef-ghijkl abcdef") == "[secret b] [secret a]"
    assert not Redactor({})


def test_every_line_of_a_key_and_numbers_are_hidden() -> None:
    redactor = Redactor({"pem": "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\n-----END KEY-----", "pin": "4711"})
    assert redactor.json(["MIIEvQIBADANBgkq", 4711, 4712, None]) == ["[secret pem]", "[secret pin]", 4712, None]


def test_what_follows_the_host_of_an_address_is_hidden_by_itself() -> None:
    redactor = Redactor({"url": "https://chat.example/services/T0/B0/0123456789abcdef?key=fedcba9876543210"})
    said = (
        "GET https://chat.example/services/T0/B0/0123456789abcdef: no",
        "bad key=fedcba9876543210",
        "0123456789abcdef",
    )
    hidden = ["GET https://chat.example[secret url]: no", "bad [secret url]", "[secret url]"]
    assert [redactor.text(one) for one in said] == hidden
    assert Redactor({"url": "https://chat.example"}).text("/ and https://") == "/ and https://"


def test_values_that_overlap_leave_nothing_of_either() -> None:
    redactor = Redactor({"a": "abcdef", "b": "defXYZ", "c": "YZuvw"})
    assert redactor.text("<abcdefXYZuvw> YZuvw") == "<[secret a][secret b][secret c]> [secret c]"
    assert redactor.text("abcdefabcdef") == "[secret a][secret a]"
    assert Redactor({"a": "abab"}).text("xabababx") == "x[secret a]x"


@pytest.mark.parametrize(
    "said",
    [
        ascii("pässwörd ☃"),
        repr({"key": "pässwörd ☃"}),
        str("pässwörd ☃".encode()),
        json.dumps({"of": f"key is {'pässwörd ☃'!a}"}),
        "pässwörd ☃".encode("unicode_escape").decode(),
    ],
)
def test_a_value_that_is_not_ascii_is_hidden_as_python_writes_it(said: str) -> None:
    shown = Redactor({"key": "pässwörd ☃"}).text(said)
    assert "[secret key]" in shown
    assert "ssw" not in shown


def test_quotation_marks_are_hidden_however_the_rest_of_the_text_has_them_escaped() -> None:
    redactor = Redactor({"key": "it's mine"})
    for said in (repr("it's mine"), repr("""it's mine "and" yours"""), "it's mine"):
        assert "mine" not in redactor.text(said), said


def test_short_lines_of_a_value_with_several_are_hidden_too() -> None:
    redactor = Redactor({"key": "user: ada\npin: 4711\n\nplace\n"})
    assert redactor.text("it is 'pin: 4711'") == "it is '[secret key]'"
    assert [redactor.text(line) for line in ("user: ada", "place")] == ["[secret key]"] * 2


def test_what_is_written_piece_by_piece_waits_for_the_rest() -> None:
    shown: list[str] = []
    kept: list[str] = []
    pieces = Pieces(Redactor({"a": "abcdef", "b": "abab"}), kept.append)
    for text in ("x", "abc", "def", "ab", "aq", "yab", "ab", "ab", "cd"):
        pieces.write(text, shown.append, keep=True)
    assert "".join(shown) == "x[secret a]abaqy"
    pieces.end()
    assert "".join(shown) == "x[secret a]abaqy[secret b]cd"
    assert kept == shown
    pieces.write("abc", shown.append, keep=False)
    assert (shown[-1], kept[-1]) == ("abc", "[secret b]cd")


@pytest.mark.costly
def test_what_may_be_half_of_a_value_does_not_wait_for_ever() -> None:
    shown: list[str] = []
    pieces = Pieces(Redactor({"a": "abab"}), shown.append)
    for _ in range(MOST_HELD // 1000 + 1):
        pieces.write("ab" * 500, shown.append, keep=False)
    assert set(shown) == {"[secret a]"}


def test_the_latest_values_are_remembered_and_names_cannot_tear_a_line_of_json() -> None:
    known = SecretsInUse()
    known.add({'na"me\\': "value-0"})
    assert json.loads(known.text('{"said": "value-0"}')) == {"said": "[secret na?me?]"}
    known.add({'na"me\\': "value-new"})
    assert known.text("value-0 value-new") == "[secret na?me?] [secret na?me?]"
    for number in range(MOST):
        known.add({f"key {number}": f"number {number:06}"})
    assert known.text("value-0 number 000000") == "value-0 [secret key 0]"
