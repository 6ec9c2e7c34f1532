"""When an attempt at an engine is over that says nothing, and the resources that make sense."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronograph.jobs.core.base.resources import Resources, carrying, handed_on, resource_faults, resources_of
from cronograph.jobs.core.outcome import Failed, HandedBack, Lost
from cronograph.jobs.core.remote import (
    REMOTE_LOST,
    REMOTE_PROCESS,
    UNSEEN,
    EngineState,
    RemoteAttempt,
    Seen,
    end_without_words,
)

BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
LEASE = 60.0
SUBMITTED = RemoteAttempt(
    execution_id=1,
    run_id=1,
    attempt=1,
    executor="hpc",
    name="cronograph-1",
    node_id=1,
    handle="77",
    submitted_at=BEGAN,
    engine_state=EngineState.UNKNOWN,
    engine_text="",
    engine_since=BEGAN,
    started_at=None,
    heard_at=None,
    stop=None,
    log_lines=0,
    ended_at=None,
    over_at=None,
    folder=None,
    resources=None,
    queue_position=None,
    queue_length=None,
    page=None,
    token_hash="",
)


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def attempt(state: EngineState = EngineState.UNKNOWN, since: float = 0, heard: float | None = None) -> RemoteAttempt:
    """One in a state since so many seconds, heard at the given one."""
    times: dict[str, Any] = {} if heard is None else {"started_at": BEGAN, "heard_at": at(heard)}
    return replace(SUBMITTED, engine_state=state, engine_since=at(since), **times)


@pytest.mark.parametrize("state", [EngineState.PENDING, EngineState.RUNNING])
@pytest.mark.parametrize("heard", [None, 5.0])
def test_what_its_engine_says_is_there_is_there_however_silent_it_is(state: EngineState, heard: float | None) -> None:
    assert end_without_words(attempt(state, heard=heard), Seen(state), at(100_000), LEASE, BEGAN) is None


def test_not_listed_means_nothing_until_it_was_silent_for_a_lease() -> None:
    assert end_without_words(attempt(heard=10), UNSEEN, at(69), LEASE, BEGAN) is None
    lost = end_without_words(attempt(heard=10), UNSEEN, at(70), LEASE, BEGAN)
    assert isinstance(lost, Lost)
    assert lost.error_type == REMOTE_LOST
    assert lost.message == (
        "hpc does not know 77, and its code was last heard at 2026-03-01T00:00:10Z, more than 60 s ago"
    )
    never = end_without_words(replace(SUBMITTED, handle=None), UNSEEN, at(60), LEASE, BEGAN)
    assert isinstance(never, Lost)
    assert never.message == "hpc does not know cronograph-1, and its code was never heard, more than 60 s ago"


def test_silence_counts_only_while_somebody_listens() -> None:
    # Its node was absent until second 1,000, so nobody could hear its code.
    assert end_without_words(attempt(heard=10), UNSEEN, at(1_059), LEASE, at(1_000)) is None
    assert isinstance(end_without_words(attempt(heard=10), UNSEEN, at(1_060), LEASE, at(1_000)), Lost)


def test_what_has_ended_at_its_engine_may_still_be_heard_for_a_moment() -> None:
    ended = Seen(EngineState.ENDED, "exit 137")
    # It is in this state only since now.
    assert end_without_words(attempt(EngineState.RUNNING, heard=5), ended, at(100), LEASE, BEGAN) is None
    assert end_without_words(attempt(EngineState.ENDED, since=100, heard=5), ended, at(114), LEASE, BEGAN) is None
    # A second process of the same attempt is at work, and heard.
    assert end_without_words(attempt(EngineState.ENDED, since=100, heard=110), ended, at(120), LEASE, BEGAN) is None
    failed = end_without_words(attempt(EngineState.ENDED, since=100, heard=5), ended, at(115), LEASE, BEGAN)
    assert isinstance(failed, Failed)
    assert (failed.error_type, failed.message) == (REMOTE_PROCESS, "77 at hpc ended before its job ended: exit 137")
    unbegun = end_without_words(attempt(EngineState.ENDED, since=100), ended, at(115), LEASE, BEGAN)
    assert isinstance(unbegun, Failed)
    assert unbegun.message == "77 at hpc ended before its job began: exit 137"


def test_what_its_engine_has_lost_is_lost() -> None:
    gone = Seen(EngineState.GONE, "NODE_FAIL")
    assert end_without_words(attempt(EngineState.RUNNING, heard=5), gone, at(100), LEASE, BEGAN) is None
    lost = end_without_words(attempt(EngineState.GONE, since=100, heard=5), gone, at(115), LEASE, BEGAN)
    assert isinstance(lost, Lost)
    assert lost.message == "hpc lost 77: NODE_FAIL"


def test_what_its_engine_takes_off_its_machine_goes_back_to_the_queue() -> None:
    taken = Seen(EngineState.EVICTED, "PreemptionByScheduler")
    # Its code may still say so itself.
    assert end_without_words(attempt(EngineState.RUNNING, heard=5), taken, at(100), LEASE, BEGAN) is None
    back = end_without_words(attempt(EngineState.EVICTED, since=100, heard=5), taken, at(115), LEASE, BEGAN)
    assert back == HandedBack("hpc took 77 off its machine: PreemptionByScheduler")


OPTION_NAME = "the name of an option must be a small letter and up to 39 small letters, digits and _"


def test_resources_that_make_sense_pass_and_say_what_was_given() -> None:
    given = Resources(cpus=0.5, memory=2**30, gpus=1, image="registry/image:1", options={"account": "a b"})
    given.check()
    assert given.document() == {
        "cpus": 0.5, "memory": 2**30, "gpus": 1, "image": "registry/image:1", "options": {"account": "a b"},
    }  # fmt: skip
    assert Resources().document() == {}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cpus": 0}, "cpus must be a number above 0, at most 1,000,000, got 0"),
        ({"cpus": float("inf")}, "cpus must be a number above 0, at most 1,000,000, got inf"),
        ({"cpus": True}, "cpus must be a number above 0, at most 1,000,000, got True"),
        ({"memory": 1.5}, "memory must be a whole number of bytes above 0, at most 9,223,372,036,854,775,807, got 1.5"),
        ({"memory": "8 GiB"}, "at most 9,223,372,036,854,775,807, got '8 GiB'"),
        ({"options": "a=b"}, "options must be an object of texts, got 'a=b'"),
        ({"gpus": "1"}, "gpus must be a whole number above 0, at most 1,000,000, got '1'"),
        # What the API could not show: its numbers have bounds.
        ({"gpus": 2**31}, "gpus must be a whole number above 0, at most 1,000,000, got 2147483648"),
        ({"memory": 2**63}, "at most 9,223,372,036,854,775,807, got 9223372036854775808"),
        ({"cpus": 10**400}, "cpus must be a number above 0, at most 1,000,000, got 1000000"),
        # Each run carries them, and a program gets them as words.
        ({"image": "a" * 1_001}, "image must have at most 1,000 characters, got 1,001"),
        ({"options": {"account": "a" * 1_001}}, "account must have at most 1,000 characters, got 1,001"),
        ({"options": {f"o{number}": "a" for number in range(101)}}, "options must be at most 100, got 101"),
        ({"image": "a\nb"}, "image must be a text without control characters"),
        ({"queue": 5}, "queue must be a text without control characters, got 5"),
        ({"options": {"Account": "x"}}, f"{OPTION_NAME}, got 'Account'"),
        ({"options": {"account": 5}}, "account must be a text without control characters, got 5"),
    ],
)
def test_resources_that_make_no_sense_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=r"^resources: ") as refused:
        Resources(**given).check()
    assert words in str(refused.value)


def test_what_a_run_asks_for_goes_before_what_its_job_and_its_task_ask_for_one_by_one() -> None:
    of_job = Resources(cpus=2, gpus=1, options={"account": "physics", "qos": "low"})
    carried = carrying({"trace": "x"}, {"gpus": 4, "options": {"qos": "high"}})
    again = carrying(carried, {"gpus": 8, "queue": "long"})
    assert resources_of(again).over(of_job) == Resources(
        cpus=2, gpus=8, queue="long", options={"account": "physics", "qos": "high"}
    )
    assert resources_of(None).over(of_job) == of_job
    assert (carrying(None, None), carrying(carried, {})) == (None, carried)
    # What makes no sense is carried as far as the rules, which refuse it.
    assert carrying(None, {"options": 5, "gpus": None}) == {"resources": {"options": 5}}
    # A node of a newer version may store one that this one does not know.
    assert resources_of({"resources": {"gpus": 1, "tpus": 2}}) == Resources(gpus=1)
    # A job that is told of the end of this one has needs of its own.
    assert handed_on(again) == {"trace": "x"}


def test_a_document_of_resources_is_judged_by_its_names_too() -> None:
    faults = [*resource_faults({"gpu": 1, "cpus": 0, "options": {"A": "x"}}), *resource_faults(5)]
    assert [(fault.path, fault.message) for fault in faults] == [
        (("resources", "gpu"), "resources: there is no 'gpu'; did you mean 'gpus'?"),
        (("resources", "cpus"), "resources: cpus must be a number above 0, at most 1,000,000, got 0"),
        (("resources", "options", "A"), f"resources: {OPTION_NAME}, got 'A'"),
        (("resources",), "resources: must be an object, got 5"),
    ]
    assert [fault.message for fault in resource_faults({"light": 1})] == [
        "resources: there is no 'light'; there are cpus, memory, gpus, image, queue, options"
    ]
