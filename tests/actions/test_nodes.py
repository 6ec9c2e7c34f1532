"""The life of nodes as it is stored: which jobs they leave behind, and in which state they are."""

from cronograph.jobs.actions.nodes import heartbeat, leave
from cronograph.jobs.core.nodes import NodeState
from cronograph.jobs.core.outcome import HandedBack
from cronograph.jobs.store.statements import jobs
from tests.support.storage import Stored

HOUR = 3600.0


def known(stored: Stored) -> list[str]:
    return stored.do(lambda tx: jobs.all_names(tx.conn))


def test_a_job_whose_node_lived_a_moment_ago_is_not_forgotten_however_long_that_had_been_up(stored: Stored) -> None:
    old = stored.node("old", jobs=("special", "work"))
    stored.pass_time(30 * HOUR)
    stored.do(heartbeat, old.node.id, lease=60.0, running=0)
    stored.do(leave, old.node, NodeState.STOPPED, unfinished=HandedBack("stopped"))
    stored.pass_time(10)
    stored.node("new", jobs=("work",))
    assert known(stored) == ["special", "work"]
    stored.pass_time(25 * HOUR)
    stored.node("newer", jobs=("work",))
    assert known(stored) == ["work"]
