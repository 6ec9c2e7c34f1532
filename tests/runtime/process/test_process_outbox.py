"""What a child process tells its node, seen from the other end of the socket."""

import socket
import threading
from collections.abc import Iterator

import pytest

from cronograph.jobs.core.model import KEPT_LINES
from cronograph.jobs.runtime.job.lines import RawLine
from cronograph.jobs.runtime.process.wire import (
    AT_ONCE,
    HEADER,
    Connection,
    Lines,
    NodeGoneError,
    Outbox,
    Progress,
    ToNode,
    length_of,
    to_node,
)


class Node:
    """Reads what a child sends, in a thread of its own, until the child has closed."""

    def __init__(self, peer: socket.socket) -> None:
        self.messages: list[ToNode] = []
        self._stream = peer.makefile("rb")
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        with self._stream:
            while header := self._stream.read(HEADER.size):
                self.messages.append(to_node(self._stream.read(length_of(header))))

    def wait(self) -> list[ToNode]:
        self._thread.join()
        return self.messages


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def line(number: int) -> RawLine:
    return RawLine.now(20, f"line {number}", None)


@pytest.mark.costly
def test_of_a_flood_the_newest_lines_arrive_and_the_dropped_ones_are_counted_in_their_place(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    child, peer = ends
    node, outbox, total = Node(peer), Outbox(Connection(child)), 3 * KEPT_LINES
    for number in range(1, total + 1):
        outbox.line(line(number))
    outbox.flush()
    child.close()
    number = 0
    arrived: list[int] = []
    for message in node.wait():
        assert isinstance(message, Lines)
        number += message.dropped
        for one in message.lines:
            number += 1
            assert one.message == f"line {number}"
            arrived.append(number)
    assert number == total
    assert arrived[-KEPT_LINES:] == list(range(total - KEPT_LINES + 1, total + 1))
    assert arrived[:AT_ONCE] == list(range(1, AT_ONCE + 1))


def test_the_first_lines_leave_at_once(ends: tuple[socket.socket, socket.socket]) -> None:
    child, peer = ends
    outbox = Outbox(Connection(child))
    outbox.line(line(1))
    body = peer.recv(65536, socket.MSG_DONTWAIT)[HEADER.size :]
    message = to_node(body)
    assert isinstance(message, Lines)
    assert [one.message for one in message.lines] == ["line 1"]


def test_of_fast_progress_the_first_and_the_last_value_arrive(ends: tuple[socket.socket, socket.socket]) -> None:
    child, peer = ends
    node, outbox = Node(peer), Outbox(Connection(child))
    for number in range(10_000):
        outbox.progress(Progress(done=number, total=None, message=None))
    outbox.flush()
    child.close()
    shown = [message.done for message in node.wait() if isinstance(message, Progress)]
    assert (shown[0], shown[-1]) == (0, 9_999)
    assert len(shown) < 1_000


def test_a_child_waits_for_its_node_whatever_the_default_timeout_of_sockets(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    child, _ = ends
    child.settimeout(0.01)
    Connection(child)
    assert child.gettimeout() is None


def test_a_node_that_is_gone_is_noticed(ends: tuple[socket.socket, socket.socket]) -> None:
    child, peer = ends
    connection = Connection(child)
    peer.close()
    with pytest.raises(NodeGoneError):
        connection.receive()
    with pytest.raises(NodeGoneError):
        connection.send(Progress(done=1, total=None, message=None))


def test_a_node_that_is_gone_with_unread_words_is_noticed_by_anyone_who_waits_for_its_answer(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    child, peer = ends
    connection = Connection(child)
    connection.send(Progress(done=1, total=None, message=None))
    # The system resets what a process closes unread.
    peer.close()
    with pytest.raises(NodeGoneError):
        connection.receive()
