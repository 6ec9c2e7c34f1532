"""An attempt whose row holds no arguments fails by itself."""

import pytest

from cronograph.jobs.runtime.attempts.bodies import fault_of_arguments


@pytest.mark.parametrize("args", [[1], 7, "t", None])
def test_an_attempt_whose_arguments_are_no_object_fails_with_a_sentence(args: object) -> None:
    fault = fault_of_arguments(args)
    assert fault is not None
    assert fault.message == (
        f"the arguments of the run must be an object, got {args!r}; set column args of its row right in the database"
    )
    assert fault.permanent
    assert fault_of_arguments({}) is None
