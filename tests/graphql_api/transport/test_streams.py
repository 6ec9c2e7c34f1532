"""The count of open streams, the queue of a sharing subscriber, and the shared fields of the real schema."""

import pytest

from cronograph.graphql.base.errors import UserFacingError
from cronograph.graphql.guard.limits import Limits
from cronograph.graphql.schema import shared_schema
from cronograph.graphql.transport.members import Encoded, Member
from cronograph.graphql.transport.shared_fields import SHARED
from cronograph.graphql.transport.streams import OpenStreams


async def test_a_stream_that_does_not_end_is_reported_by_the_shutdown() -> None:
    streams = OpenStreams(2)
    asked: list[str] = []
    with streams.opened(lambda: asked.append("stalled")):
        assert len(streams) == 1
        assert await streams.shutdown(seconds=0.01) == 1
        assert asked == ["stalled"]
    assert await streams.shutdown() == 0
    with pytest.raises(UserFacingError, match="shutting down"):
        streams.check()


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
