"""The count of open streams, the queue of a sharing subscriber, and the shared fields of the real schema."""

from contextlib import ExitStack

import pytest

from cronograph.graphql.base.errors import UserFacingError
from cronograph.graphql.guard.limits import Limits
from cronograph.graphql.schema import shared_schema
from cronograph.graphql.transport.sharing import SHARED, Encoded, Member
from cronograph.graphql.transport.streams import OpenStreams, Place


async def test_a_stream_that_does_not_end_is_reported_by_the_shutdown() -> None:
    streams = OpenStreams()
    asked: list[str] = []
    with streams.opened("ada", lambda: asked.append("stalled")):
        assert len(streams) == 1
        assert await streams.shutdown(seconds=0.01) == 1
        assert asked == ["stalled"]
    assert await streams.shutdown() == 0
    with pytest.raises(UserFacingError, match="shutting down"):
        streams.check()


def ignore() -> None:
    """Of a stream that nobody asks to end."""


async def test_one_client_has_a_share_and_leaves_the_rest_to_others() -> None:
    streams = OpenStreams(Limits(open_streams=5, client_streams=3))
    with ExitStack() as opened:
        for _ in range(3):
            opened.enter_context(streams.opened("ada", ignore))
        with pytest.raises(UserFacingError, match="You have too many open streams: the limit is 3") as refused:
            streams.check("ada")
        assert (refused.value.code, refused.value.http_status) == ("LIMIT_CLIENT_STREAMS", 429)
        for _ in range(2):
            opened.enter_context(streams.opened("eve", ignore))
        with pytest.raises(UserFacingError, match="Too many open streams: the limit is 5"):
            streams.check("bob")
    assert len(streams) == 0
    streams.check("ada")


async def test_the_address_with_most_unready_sockets_makes_room_for_others() -> None:
    streams = OpenStreams(Limits(unready_sockets=3, open_streams=1))
    ended: list[str] = []

    def socket(name: str, address: str) -> Place:
        def make_room(error: UserFacingError) -> None:
            ended.append(f"{name}: {error.code}")

        return Place(ignore, address, make_room)

    with ExitStack() as opened:
        for name in ("first", "second"):
            opened.enter_context(streams.arrived(socket(name, "10.0.0.1")))
        honest = socket("honest", "10.0.0.2")
        opened.enter_context(streams.arrived(honest))
        opened.enter_context(streams.arrived(socket("third", "10.0.0.1")))
        assert ended == ["first: LIMIT_UNREADY_SOCKETS"]
        assert streams.unready == 3
        streams.belongs(honest, "ada")
        assert (streams.unready, len(streams)) == (2, 4)
        with pytest.raises(UserFacingError, match="the limit is 1; try"):
            streams.check()
    assert (streams.unready, len(streams)) == (0, 0)


async def test_a_queue_is_bounded_in_bytes_but_takes_one_event_of_any_size() -> None:
    member = Member(Limits(queue_bytes=10))
    overflowed: list[bool] = []
    for text, cursor in (("x" * 100, "c1"), ("y", "c2"), ("z", "c3")):
        member.offer(Encoded(text, cursor))
        overflowed.append(member.overflowed)
    assert overflowed == [False, True, True]
    assert [answer.cursor async for answer in member.answers()] == ["c1"]


async def test_a_meeting_gives_up_when_the_shared_execution_does_not_come() -> None:
    member = Member(Limits(queue_events=1))
    assert not await member.reach("c5", 0.01)
    member.offer(Encoded("x", "c1"))
    member.offer(Encoded("x", "c2"))
    assert not await member.reach("c5", 10.0), "it has overflowed"


def test_the_shared_subscriptions_are_those_of_the_schema() -> None:
    root = shared_schema().documents.schema.subscription_type
    assert root is not None
    for name, shared in SHARED.fields.items():
        arguments = set(root.fields[name].args)
        assert {*shared.private_arguments, *filter(None, [shared.resume_argument])} <= arguments
