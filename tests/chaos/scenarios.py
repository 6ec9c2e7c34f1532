"""What is tried: each scenario is a value. Which of its disturbances comes when is up to chance, from a seed."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.chaos import aimed
from tests.chaos import disturbances as d
from tests.chaos import engine_troubles as e
from tests.chaos.stage import Kind, Stage

Disturbance = Callable[[Stage], None]


@dataclass(frozen=True)
class Scenario:
    """A kind of trouble.

    Attributes:
        name: For the command line and the report.
        kind: On which database, with which nodes.
        disturbances: Each comes at least once, then by chance, one after the other, with short pauses between.
        flows: Whether the client asks for flows, and for nothing else.
        admission: Whether a client enqueues what is debounced, limited, or soon too old to start.
        joints: Whether the client combines features two by two, and meddles with their runs.
        prunes: Whether it has what has ended pruned, too.
        engines: Whether the client asks for runs at engines.
    """

    name: str
    kind: Kind
    disturbances: tuple[Disturbance, ...]
    flows: bool = False
    admission: bool = False
    joints: bool = False
    prunes: bool = False
    engines: bool = False


AIMED = (
    aimed.kill_before_a_step_is_stored,
    aimed.kill_before_a_signal_is_stored,
    aimed.kill_before_a_signal_wakes,
    aimed.kill_in_a_fan_in,
)
AT_ENGINES = (
    d.kill,
    d.stop,
    d.freeze,
    e.kill_launchers,
    e.kill_controller,
    e.kill_slurm_node,
    e.no_api_server,
    e.jobs_that_nobody_hears_of,
    e.runs_cut_off,
    e.runs_unanswered,
)
SCENARIOS = (
    Scenario("processes", Kind.POSTGRES, (d.kill, d.stop, d.freeze)),
    Scenario(
        "server", Kind.POSTGRES, (d.end_backends, d.restart_server, d.read_only, d.slots_full, d.server_disk_full)
    ),
    Scenario(
        "line",
        Kind.POSTGRES,
        (d.lost_answers, d.black_hole, d.black_hole_then_cut, d.black_hole_beyond_the_lease, d.latency, d.silence),
    ),
    Scenario("clocks", Kind.STEPPED_CLOCKS, (d.clock_steps,)),
    Scenario("poison", Kind.POSTGRES, (d.poison, d.kill)),
    Scenario("pooler", Kind.POOLED, (d.kill, d.stop, d.end_backends, d.lost_answers)),
    Scenario("versions", Kind.TWO_VERSIONS, (d.kill, d.stop)),
    Scenario("admission", Kind.POSTGRES, (d.kill, d.freeze, d.lost_answers), admission=True),
    Scenario("one node", Kind.SQLITE, (d.kill, d.stop, d.freeze, d.disk_full), admission=True),
    Scenario("flows", Kind.POSTGRES, AIMED, flows=True),
    Scenario("flows on one node", Kind.SQLITE, AIMED, flows=True),
    Scenario("joints", Kind.POSTGRES, (d.kill, d.calm, d.stop, d.calm, d.freeze), joints=True),
    Scenario("joints on one node", Kind.SQLITE, (d.kill, d.calm, d.stop, d.calm), joints=True),
    Scenario("joints and pruning", Kind.POSTGRES, (d.kill, d.calm, d.stop, d.calm), joints=True, prunes=True),
    Scenario("engines", Kind.POSTGRES, AT_ENGINES, engines=True),
    Scenario("engines on one node", Kind.SQLITE, AT_ENGINES, engines=True),
    Scenario("joints and pruning on one node", Kind.SQLITE, (d.kill, d.calm, d.stop, d.calm), joints=True, prunes=True),
)
EVERYTHING = Scenario(
    "everything",
    Kind.POSTGRES,
    tuple(
        {
            one: None
            for scenario in SCENARIOS
            if scenario.kind is Kind.POSTGRES and not (scenario.flows or scenario.joints or scenario.engines)
            for one in scenario.disturbances
        }
    ),
)
"""All that can happen to nodes on PostgreSQL, in one play."""
