"""Plays a scenario and judges all that happened: the same rules for all, over the whole history."""

import random
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import text

from cronograph.jobs.store.schema.parts import BLOCK
from tests.chaos.admission_client import AdmissionClient
from tests.chaos.admission_rules import lost_arguments
from tests.chaos.client import PACE, Asked, Client
from tests.chaos.cluster import ADMITTED, AT_ENGINES, FLOWS, JOINTS, LONG, POISONOUS, figures
from tests.chaos.disturbances import black_hole_beyond_the_lease, poison
from tests.chaos.durable_rules import broken_signals
from tests.chaos.engine_client import EngineClient
from tests.chaos.flow_client import FlowClient
from tests.chaos.flow_rules import broken_flows
from tests.chaos.history import History
from tests.chaos.joint_client import LEAST_PACE, LIMIT, LIMITED, REPLACING, JointClient
from tests.chaos.joint_rules import broken_ends
from tests.chaos.rules import Violation, broken_promises
from tests.chaos.scenarios import Disturbance, Scenario
from tests.chaos.stage import NAMES, Kind, Stage, staged
from tests.support.forking import Nursery

TASKS = 6
RUNS = 100
OVERLAPS = ("SKIP", "QUEUE", "ALLOW")
WORK: Asked = ("work", ({},))
ORDERS: Asked = ("order", ({"amount": 1}, {"amount": 1, "currency": "EUR"}))
"""The arguments are those of one version and of the other; anyone who answers judges by the one it knows."""


@dataclass(frozen=True)
class Report:
    """What happened in one play.

    Attributes:
        scenario: Its name.
        seed: Repeats it.
        disturbed: What was done, in order.
        promised: How many runs and flows were acknowledged to the client.
        refused: How many of its requests were not.
        history: Everything that the database remembers.
    """

    scenario: str
    seed: int
    disturbed: tuple[str, ...]
    promised: int
    refused: int
    history: History

    def __str__(self) -> str:
        return (
            f"{self.scenario}, seed {self.seed}: {len(self.disturbed)} disturbances, {self.promised} runs and flows "
            f"acknowledged and {self.refused} requests refused; {figures(self.history)}"
        )


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large a play is.

    Attributes:
        seconds: For so long nodes are disturbed.
        pace: Seconds between two requests of the client meanwhile.
        nodes: How many share a PostgreSQL, unless there are two versions or flows.
        tasks: How many are due every second.
        runs: How many a client asks for at engines: nodes and engines are disturbed until it has.
    """

    seconds: float
    pace: float = PACE
    nodes: int = len(NAMES)
    tasks: int = TASKS
    runs: int = RUNS


def play(scenario: Scenario, seed: int, size: Size, folder: Path, nursery: Nursery | None = None) -> Report:
    """Disturb nodes for a while, let them come to rest, and judge.

    Raises:
        AssertionError: a promise was broken; the message names the rule and the place.
    """
    chance = random.Random(f"{scenario.name} {seed}")
    folder.mkdir(parents=True, exist_ok=True)
    with staged(scenario.kind, folder, chance, nursery, modules=_modules(scenario), engines=scenario.engines) as stage:
        stage.patience = size.seconds / 2
        _open(stage, scenario, size)
        asks = _client(stage, scenario, size)
        admission = AdmissionClient(stage.cluster, size.pace)
        with (
            asks as client,
            admission if scenario.admission else nullcontext(),
        ):
            _disturb(stage, scenario, size.seconds, client)
            stage.wait_ready()
        stage.come_to_rest(lambda: client.signal_unpromised({**client.sent, **stage.sent}), 180)
        stage.cluster.stop_all()
        history = stage.cluster.verify(at_rest=True, pruned=scenario.prunes)
        unhandled = stage.cluster.tracebacks()
        assert unhandled == [], "\n".join([f"{len(unhandled)} tracebacks", *unhandled[:3]])
        if isinstance(client, JointClient):
            ends = broken_ends(history, client.meant, pruned=scenario.prunes)
            broken = [Violation("what was acknowledged ends as it was meant to", one) for one in ends]
        else:
            kept = broken_promises(history, client.promised)
            broken = [Violation("what was acknowledged is kept", one) for one in kept]
        broken += [
            Violation("what was signalled is taken", one)
            for one in broken_signals(history, {**client.sent, **stage.sent})
        ]
        flows = {**client.flows, **stage.flows}
        broken += [Violation("what was promised of flows is kept", one) for one in broken_flows(history, flows)]
        lost = lost_arguments(history, admission.acknowledged)
        broken += [Violation("no acknowledged debounced argument is lost", one) for one in lost]
        assert broken == [], "\n".join(map(str, [f"{len(broken)} broken promises", *broken[:30]]))
        assert bool(admission.acknowledged) == scenario.admission, "no debounced run was acknowledged"
        promised = len(client.promised) + len(client.flows)
        assert promised, "nothing was acknowledged, so nothing was tried"
        return Report(scenario.name, seed, tuple(stage.log), promised, client.refused, history)


def _client(stage: Stage, scenario: Scenario, size: Size) -> Client:
    """Return who asks for runs."""
    if scenario.joints:
        return JointClient(stage.cluster, pace=max(size.pace, LEAST_PACE), chance=stage.chance, prunes=scenario.prunes)
    if scenario.engines:
        return EngineClient(stage.cluster, pace=size.pace, runs=size.runs)
    asks = FlowClient if scenario.flows else Client
    return asks(stage.cluster, *ORDERS if stage.versions else WORK, pace=size.pace)


def _modules(scenario: Scenario) -> tuple[str, ...]:
    """Return what its nodes need beside the jobs that every node has."""
    needs: dict[Disturbance, str] = {poison: POISONOUS, black_hole_beyond_the_lease: LONG}
    of_disturbances = (needs[one] for one in scenario.disturbances if one in needs)
    flows, admitted = (FLOWS,) if scenario.flows else (), (ADMITTED,) if scenario.admission else ()
    joints = (JOINTS,) if scenario.joints else ()
    engines = (AT_ENGINES,) if scenario.engines else ()
    return (*of_disturbances, *flows, *admitted, *joints, *engines)


def _open(stage: Stage, scenario: Scenario, size: Size) -> None:
    shared = {Kind.SQLITE: NAMES[:1], Kind.TWO_VERSIONS: (*NAMES, "dan")}
    names = shared.get(scenario.kind, NAMES[: size.nodes])
    names = names[:2] if scenario.flows else names
    # The first one makes the schema.
    stage.begin(names[0]).wait_ready(60)
    for name in names[1:]:
        stage.begin(name)
    stage.wait_ready()
    # What is at engines is to have the machine for itself.
    for number in range(1 if scenario.engines else size.tasks):
        overlap = OVERLAPS[number % len(OVERLAPS)]
        stage.cluster.create_task(f"task-{number}", overlap=overlap, retries=50, retryDelay=0.2, args={"seconds": 0.1})
    if scenario.prunes and scenario.kind is Kind.POSTGRES:
        _come_to_the_end_of_a_block(stage)
    if scenario.joints:
        args = {"acts": ["step", "sleep", "act"], "lane": "a"}
        replaced: dict[str, object] = {"jobName": "joint async, concurrency", "overlap": "REPLACE", "args": args}
        stage.cluster.create_task(REPLACING, value="*/2 * * * * *", **replaced, retries=50, retryDelay=0.2)  # type: ignore[arg-type]
        stage.ask(LIMIT, {"name": LIMITED, "maxRunning": 1})
    stage.cluster.create_task("steps", jobName="steps", overlap="ALLOW", retries=50, retryDelay=0.2)


NEAR: Final = 300
"""Runs before the first block of the history is full, which a pruning then drops as a whole."""


def _come_to_the_end_of_a_block(stage: Stage) -> None:
    with stage.cluster.engine.begin() as conn:
        for table in ("run", "job_execution"):
            conn.execute(text(f"SELECT setval('cronograph.{table}_id_seq', {BLOCK - NEAR})"))


def _disturb(stage: Stage, scenario: Scenario, seconds: float, client: Client) -> None:
    over = time.monotonic() + seconds
    waiting = stage.chance.sample(scenario.disturbances, len(scenario.disturbances))
    while waiting or time.monotonic() < over or client.has_more:
        disturb = waiting.pop() if waiting else stage.chance.choice(scenario.disturbances)
        stage.log.append(disturb.__name__)
        disturb(stage)
        stage.pause(0.1, 1.0)
        stage.wait_ready()
