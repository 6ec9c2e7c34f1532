"""What a node and a child process say to each other."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronograph.jobs.base.context import StopReason
from cronograph.jobs.core.outcome import (
    Cancelled,
    Failed,
    HandedBack,
    JobOutcome,
    Snoozed,
    Succeeded,
    Suspended,
    TimedOut,
)
from cronograph.jobs.core.waits import AwaitedKind, Awaits
from cronograph.jobs.runtime.job.lines import RawLine
from cronograph.jobs.runtime.process.wire import (
    HEADER,
    MAX_FRAME,
    Answer,
    Ended,
    FrameError,
    Lines,
    Message,
    Progress,
    Save,
    Stop,
    Terminate,
    frame,
    length_of,
    to_child,
    to_node,
)

OUTCOMES: list[JobOutcome] = [
    Succeeded(),
    Succeeded(2**63 - 1, {"a": [1, None, 10**30]}),
    Failed("E", "m", "t", permanent=True),
    TimedOut("m", None),
    Cancelled("r"),
    Snoozed(1.5),
    Suspended(Awaits(AwaitedKind.SIGNAL, "go"), until=datetime(2026, 1, 1, tzinfo=UTC)),
    Suspended(Awaits.for_runs([3, 1]), 1.5),
    HandedBack("r"),
]


def body(message: Message) -> bytes:
    data = frame(message)
    assert length_of(data[: HEADER.size]) == len(data) - HEADER.size
    return data[HEADER.size :]


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_an_outcome_comes_back_as_it_was(outcome: JobOutcome) -> None:
    message = to_node(body(Ended.of(outcome)))
    assert isinstance(message, Ended)
    assert message.value() == outcome


@pytest.mark.parametrize(
    "message",
    [
        Lines(lines=[RawLine(1.5, 20, "ü", {"a": 1}), RawLine(2, 10, "", None)], dropped=3),
        Progress(done=2**60, total=0.5, message=None),
        Save(number=1, value=[None, {"a": 1.5}]),
    ],
)
def test_a_message_to_the_node_comes_back_as_it_was(message: Message) -> None:
    assert to_node(body(message)) == message


@pytest.mark.parametrize("message", [Stop(reason=StopReason.CANCEL), Terminate(), Answer(number=3, error="no")])
def test_a_message_to_the_child_comes_back_as_it_was(message: Message) -> None:
    assert to_child(body(message)) == message


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b'"x"',
        b"{}",
        b'{"kind": "begin"}',
        b'{"kind": "nothing"}',
        b'{"kind": "lines", "lines": [1]}',
        b'{"kind": "lines", "lines": [[1.5, 20, "no fields"]]}',
        b'{"kind": "lines", "lines": [[1.5, 20, "fields that are none", [1]]]}',
        b'{"kind": "lines", "lines": [], "dropped": -1}',
        b'{"kind": "terminate"}',
        b'{"kind": "save", "number": 1, "value": 1, "more": 2}',
        b"[" * 50_000,
        b"\xff\xfe",
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(FrameError, match="a message that cannot be read"):
        to_node(data)


def test_an_outcome_with_other_fields_is_refused() -> None:
    for fields in ({}, {"seconds": "soon"}):
        message = to_node(body(Ended(outcome="Snoozed", fields=fields)))
        assert isinstance(message, Ended)
        with pytest.raises(FrameError, match="the fields of outcome Snoozed do not fit"):
            message.value()


def test_no_frame_is_larger_than_the_bound() -> None:
    with pytest.raises(FrameError, match=f"a message may have {MAX_FRAME} bytes"):
        frame(Save(number=1, value="x" * MAX_FRAME))
    with pytest.raises(FrameError, match="the next one claims 4294967295"):
        length_of(b"\xff\xff\xff\xff")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_refused(data: bytes) -> None:
    try:
        to_node(data)
    except FrameError:
        return
