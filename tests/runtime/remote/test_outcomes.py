"""Every way in which a job can end leaves at an engine the row that it leaves anywhere else."""

from collections.abc import Callable
from typing import Any

import pytest

from cronograph.jobs.core.model import Outcome
from cronograph.jobs.core.states import RunState
from tests.runtime.attempts.test_executor_outcomes import EXPECTED, assert_matches
from tests.support.remote import KIND_NAMES, KINDS, Engine
from tests.support.waiting import wait_until

ROWS = """{ executions(first: 100, filter: { jobName: { eq: "ends" } }) { nodes {
  attempt outcome success errorType errorMessage traceback value recordsProcessed args run { state error result }
} } }"""


@pytest.mark.costly
@pytest.mark.timeout(240)
@pytest.mark.parametrize("channel", KINDS, indirect=True, ids=KIND_NAMES)
def test_every_end_of_a_job_at_an_engine_leaves_the_documented_row(remote_engine: Callable[..., Engine]) -> None:
    engine = remote_engine(env={"CRONOGRAPH_REMOTE_SLOTS": "6", "CRONOGRAPH_REMOTE_LEASE": "60"})
    for how in EXPECTED:
        engine.trigger("ends", how=how)
    rows: dict[str, Any] = {}

    def are_over() -> bool:
        found = engine.query(ROWS)["executions"]["nodes"]
        rows.update({one["args"]["how"]: one for one in found if one["outcome"] is not None})
        return len(rows) == len(EXPECTED)

    wait_until(are_over, within=200, interval=0.5, message="all ends")
    for how, expected in EXPECTED.items():
        row = rows[how]
        assert row["attempt"] == 1, how
        found = (how, RunState[row["run"]["state"]], Outcome[row["outcome"]], row["recordsProcessed"], row["value"])
        assert found == (how, expected.state, expected.outcome, expected.records, expected.value)
        assert row["run"]["result"] == expected.value, how
        assert_matches(expected.error, row["errorMessage"])
        assert_matches(expected.error_type, row["errorType"])
        assert row["run"]["error"] == row["errorMessage"], how
    assert "sample_jobs.py" in rows["an error"]["traceback"]
