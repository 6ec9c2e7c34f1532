"""The transition table of runs: what is listed is allowed, everything else is an error."""

from cronograph.jobs.core.states import FINAL, TRANSITIONS, UNFINISHED, RunState, sources_of

W, H, R, T, U = RunState.WAITING, RunState.SCHEDULED, RunState.RUNNING, RunState.STUCK, RunState.SUSPENDED
OK, F, C, S = RunState.SUCCESS, RunState.FAILED, RunState.CANCELLED, RunState.SKIPPED
ALLOWED = {
    *((W, after) for after in (H, R, F, C, S)),
    *((H, after) for after in (R, W, C, S)),
    *((R, after) for after in (OK, F, T, C, W, U)),
    *((T, after) for after in (H, R, F, C)),
    *((U, after) for after in (W, F, C, S)),
}


def test_a_state_changes_only_as_the_table_says() -> None:
    assert set(TRANSITIONS) == set(RunState)
    assert {(before, after) for before, following in TRANSITIONS.items() for after in following} == ALLOWED


def test_final_states_are_those_that_nothing_follows() -> None:
    assert {OK, F, C, S} == FINAL
    assert {W, H, R, T, U} == UNFINISHED


def test_the_sources_of_a_state_are_the_states_that_lead_to_it() -> None:
    for state in RunState:
        assert sources_of(state) == {before for before, following in TRANSITIONS.items() if state in following}
