"""What every child process would load or make for itself is there before it is forked."""

from datetime import UTC, datetime
from typing import Final

from ...base.context import RunInfo
from ...core.model import Isolation
from ...core.outcome import Succeeded
from ...registry import define
from .wire import HEADER, Begin, Ended, frame, to_child

_TIMES: Final = 20
"""How often it is done: the interpreter rewrites code that has run a few times, which a child would do in a copy."""


def warm_up() -> None:
    """Define a job, bind its arguments, read an order, write an outcome: nothing of it stays but what was loaded."""
    definition = define("warm_up", _do_nothing, isolation=Isolation.PROCESS)
    order = frame(Begin(
        module=__name__, qualname=_do_nothing.__qualname__, info=_info(), remaining=1.0, checkpoint=None, path=[],
        log_levels={},
    ))[HEADER.size :]  # fmt: skip
    for _ in range(_TIMES):
        definition.bind({}, None)
        to_child(order)
        frame(Ended.of(Succeeded()))


def _info() -> RunInfo:
    return RunInfo(
        run_id=1, execution_id=1, job_name="warm_up", task_id=None, task_name=None, attempt=1, is_last_attempt=True,
        scheduled_for=None, deadline=datetime.now(UTC), submitter=None, args={}, carried=None,
    )  # fmt: skip


def _do_nothing() -> None:
    """The job."""
