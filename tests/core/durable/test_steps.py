"""What steps are known by, and which results a run keeps that goes on from one of them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from cronograph.jobs.base.outside import OutsideHost
from cronograph.jobs.base.steps import StepClock, Steps, Wanted
from cronograph.jobs.core.base.errors import ErrorCode, InvalidState, NotFound, UserError
from cronograph.jobs.core.steps import (
    MAX_PART,
    Step,
    StepEnd,
    StepKind,
    StepName,
    StepState,
    StoredStep,
    check_label,
    check_step,
    may_have_steps,
    results_before,
)
from cronograph.jobs.core.waits import Wait

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


def step(label: str, attempt: int = 1, second: float = 0, error: str | None = None) -> Step:
    at = BEGIN + timedelta(seconds=second)
    state = StepState.DONE if error is None else StepState.FAILED
    return Step(1, label, StepKind.FUNCTION, state, attempt, at, at, None, None, error, used=True)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        (StepName("charge"), "charge"),
        (StepName("charge", None, 2), "charge#2"),
        (StepName("charge", "42"), "charge[42]"),
        (StepName("charge", "42", 3), "charge[42]#3"),
        (StepName("charge", "a]#2"), "charge[a]#2]"),
        (StepName("charge", "a[b]", 2), "charge[a[b]]#2"),
    ],
)
def test_a_step_is_known_by_its_name_its_key_and_the_number_of_its_use(name: StepName, label: str) -> None:
    assert name.label == label
    assert StepName.parse(label) == name


@pytest.mark.parametrize(
    "label",
    [
        "", "x" * 5000, "x" * (MAX_PART + 1), f"x[{'y' * (MAX_PART + 1)}]", "charge#", "charge#x", "charge#1",
        "charge#02", "charge#0", f"charge#{2**31}", "charge#" + "9" * 5000, "charge]", "charge[42", "charge[]",
        "charge[42]2", "a\nb",
    ],
)  # fmt: skip
def test_what_no_job_can_call_a_step_is_refused(label: str) -> None:
    with pytest.raises(UserError, match=r"^step: "):
        check_label(label)


@pytest.mark.parametrize("label", ["charge", "charge#2", "charge[42]", "charge[a]#2]", "charge[a[b]]#2"])
def test_what_a_job_calls_a_step_is_taken(label: str) -> None:
    check_label(label)


_names = st.text(st.characters(codec="utf-8", exclude_characters="[]#"), min_size=1)


@pytest.mark.costly
@given(_names, st.none() | st.text(min_size=1), st.integers(1, 10**6))
def test_no_two_steps_have_one_label(name: str, key: str | None, use: int) -> None:
    assert StepName.parse(StepName(name, key, use).label) == (name, key, use)


@pytest.mark.parametrize(
    ("name", "key", "says"),
    [
        ("", None, "name must have 1 to 200 characters, got 0"),
        ("x" * (MAX_PART + 1), None, "name must have 1 to 200 characters, got 201"),
        (7, None, "name must be text, got int: 7"),
        ("a#2", None, "name must not contain '#', got 'a#2'; tell steps of one name apart by key="),
        ("a[1]", None, "name must not contain '['"),
        ("a\n", None, r"name must not contain '\n'"),
        ("a", "", "key must have 1 to 200 characters"),
        ("a", 1.5, "key must be text or a whole number, got float"),
        ("a", "\x00", "key must not contain"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused(name: object, key: object, says: str) -> None:
    with pytest.raises(UserError) as refused:
        check_step(name, key)
    assert says in refused.value.message


def test_the_first_attempt_of_most_runs_has_nothing_to_read() -> None:
    assert not may_have_steps(1, "api")
    assert may_have_steps(2, "api")
    assert may_have_steps(1, "retry")


def test_steps_are_in_their_order_though_somebody_sets_the_clock_back_between_them() -> None:
    times = [datetime(2026, 3, 1, 12, tzinfo=UTC), datetime(2026, 3, 1, 11, tzinfo=UTC)]
    seconds = iter([7.0, 8.0, 9.0])
    clock = StepClock(0.0, lambda: times.pop(0), lambda: next(seconds))
    assert [clock.now() - datetime(2026, 3, 1, 12, tzinfo=UTC) for _ in range(2)] == [
        timedelta(seconds=1), timedelta(seconds=2)
    ]  # fmt: skip


def test_the_times_of_steps_are_those_of_the_database_though_the_clock_of_the_node_is_ahead() -> None:
    clock = StepClock(3600.0, lambda: BEGIN + timedelta(hours=1), lambda: 7.0)
    assert clock.now() == BEGIN


def test_a_step_after_a_wait_begins_later_though_the_clock_of_its_node_is_behind() -> None:
    kept: list[StepEnd] = []
    later = datetime.now(UTC) + timedelta(hours=1)

    class Host(OutsideHost):
        @override
        def keep_step_waiting(self, end: StepEnd) -> None:
            kept.append(end)

        @override
        def begin_wait_waiting(self, asked: Wait) -> StoredStep:
            return StoredStep(asked.label, 1, None, asked.kind, began=later)

    steps = Steps(Host(), StepClock())
    steps.wait_waiting(lambda label: Wait(label, StepKind.SIGNAL), "approved", None)
    steps.take_waiting(Wanted.of("mail", lambda: None, key=None), lambda: None)
    assert kept[0].started_at >= later


def test_what_began_before_a_step_is_kept() -> None:
    steps = [
        step("a"),
        step("b", 1, 1, error="no luck"),
        step("b", 2, 0.5),
        step("c", 2, 2),
        step("d", 2, 3),
    ]
    assert results_before(steps, "d") == ["a", "b", "c"]
    assert results_before(steps, "c") == ["a", "b"]
    # It was begun first in the first attempt: what came after that is done again, too.
    assert results_before(steps, "b") == ["a"]
    assert results_before(steps, "a") == []


def test_a_step_that_was_undone_is_not_kept() -> None:
    steps = [step("look"), replace(step("pay", 1, 1), cleanup_job="refund"), step("seat", 1, 2), step("mail", 2, 3)]
    assert results_before(steps, "mail") == ["look", "pay", "seat"]
    assert results_before(steps, "pay", undone=True) == ["look"]
    for label in ("seat", "mail"):
        with pytest.raises(
            InvalidState, match=r"step 'pay' comes before .*, and job 'refund' has undone it"
        ) as refused:
            results_before(steps, label, undone=True)
        assert refused.value.path == ("fromStep",)


def test_a_later_attempt_comes_after_an_earlier_one_whatever_the_clocks_say() -> None:
    assert results_before([step("a", 1, 100), step("b", 2, 0)], "b") == ["a"]


def test_an_unknown_step_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(NotFound, match=r"no step 'chrge'; did you mean 'charge'\?") as refused:
        results_before([step("charge"), step("mail")], "chrge")
    assert (refused.value.code, refused.value.path) == (ErrorCode.UNKNOWN_STEP, ("fromStep",))
    with pytest.raises(NotFound, match="it has no steps"):
        results_before([], "charge")
    with pytest.raises(NotFound, match="it has charge, mail"):
        results_before([step("charge"), step("mail")], "zzz")
