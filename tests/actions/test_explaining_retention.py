"""Until when is it kept, and by which rule? A sentence for each, and the same by the API."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronograph.jobs.core.defaults import Keeping, Retained
from cronograph.jobs.core.explain import RunFacts, explain_run
from cronograph.jobs.core.model import Group, Run
from cronograph.jobs.core.states import RunState
from tests.support.storage import Stored

ENDED = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
WEEK = 7 * 86400.0
FLOW = "It is pruned together with flow 3, and not before that has ended for so long."
TASK = "The newest execution of a task always stays."


@pytest.fixture
def waiting(stored: Stored) -> Run:
    """Any run; the tests end it."""
    stored.node()
    return stored.enqueue()


def said(run: Run, retained: Retained | None, **about: Any) -> list[str]:
    ended = replace(run, **{"state": RunState.SUCCESS, "finished_at": ENDED, "group": "default", **about})
    facts = RunFacts(job_known=True, isolation=None, nodes=(), group=Group("default"), retention=retained)
    return list(explain_run(ended, facts, ENDED + DAY).details)


def test_until_when_and_by_which_rule(waiting: Run) -> None:
    job = waiting.job_name
    kept = Keeping(ENDED + DAY, 30 * DAY, {job: 90 * 86400.0}, {"mail": WEEK, "brief": 3600.0})
    retained = Retained(kept, None, "prune_history")
    for about, sentences in (
        ({"job_name": "x"}, ["kept until 2026-03-31 12:00:00 UTC: for 30 d, as task 'prune_history' says."]),
        ({}, [f"kept until 2026-05-30 12:00:00 UTC: for 90 d, as job '{job}' says."]),
        ({"group": "mail"}, ["kept until 2026-03-08 12:00:00 UTC: for 7 d, as group 'mail' says."]),
        ({"group": "brief"}, ["kept for 1 h, as group 'brief' says: the next pruning may delete it."]),
        (
            {"group": "mail", "flow_id": 3},
            ["kept until 2026-03-31 12:00:00 UTC: for 30 d, as task 'prune_history' says.", FLOW],
        ),
        (
            {"flow_id": 3, "task_id": 7},
            [f"kept until 2026-05-30 12:00:00 UTC: for 90 d, as job '{job}' says.", FLOW, TASK],
        ),
    ):
        found = said(waiting, retained, **about)
        assert found == [f"Its history is {sentences[0]}", *sentences[1:]]
    found = said(waiting, replace(retained, max_per_task=1000), task_id=7)
    assert found[1:] == ["Before that it goes once its task has 1,000 newer executions.", TASK]


def test_nothing_prunes(waiting: Run) -> None:
    kept = Keeping(ENDED, 30 * DAY)
    assert said(waiting, Retained(kept, 5, None)) == ["Its history is kept for good: no task prunes it."]
    paused = "Its history is kept while the task 'prune_history', which prunes it, is paused."
    assert said(waiting, Retained(kept, 5, "prune_history", is_paused=True)) == [paused]
    assert said(waiting, None) == []
