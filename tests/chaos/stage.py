"""Where a scenario plays: nodes on a database, the line between the two, and chance that can be repeated."""

import os
import random
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from tests.chaos.cluster import MODULES, NEW, OLD, SETTINGS, Cluster
from tests.chaos.disk import SmallDisk
from tests.chaos.engines import Engines
from tests.chaos.pooler import Pooler
from tests.chaos.postmaster import DATABASE, ROLE, Postmaster
from tests.chaos.proxy import Proxy
from tests.chaos.stepping_node import FILE as CLOCK
from tests.support.forking import Nursery, start_fresh
from tests.support.ports import free_port
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import let_pass, wait_until

NAMES = ("ada", "bob", "cyd")
NEWER = ("cyd", "dan")
"""Where there are two versions, these have the newer one."""
NODE_SETTINGS = {"CRONOGRAPH_SLOTS": "6", "CRONOGRAPH_POLL": "1"}
SHORT_TRANSACTIONS = "options=-c%20idle_in_transaction_session_timeout%3D1500"
"""A node that is frozen in the middle of a transaction loses it sooner than it would in earnest."""


class Kind(StrEnum):
    """On which database, with which nodes."""

    POSTGRES = "postgres"
    SQLITE = "sqlite"
    STEPPED_CLOCKS = "stepped clocks"
    POOLED = "pooled"
    TWO_VERSIONS = "two versions"


@dataclass
class Stage:
    """Everything a disturbance may lay its hands on.

    Attributes:
        cluster: The nodes that live now, and what they leave behind.
        chance: Seeded; every choice of a scenario is made by it.
        postmaster: The PostgreSQL, unless the database is SQLite.
        proxy: The line to it.
        disk: Where the SQLite file lies.
        pooler: What stands between the nodes and the line, if anything does.
        at: The engines of the nodes, if they have any.
        stepped: Whether the nodes go by clocks that are set by ``set_clock``.
        versions: Whether some of the nodes have another version of a job.
        modules: Those of the jobs that the nodes have beside what every node has.
        patience: Seconds that the longest disturbance may take.
        log: What was done, for the report.
        sent: Runs that disturbances have sent signals to, and what they are to return.
        flows: Flows that disturbances have enqueued; of each, in which state the run of each key has to end.
        files: How many files disturbances have named.
    """

    cluster: Cluster
    chance: random.Random
    postmaster: Postmaster | None = None
    proxy: Proxy | None = None
    disk: SmallDisk | None = None
    pooler: Pooler | None = None
    at: Engines | None = None
    stepped: bool = False
    versions: bool = False
    modules: tuple[str, ...] = ()
    patience: float = 3.0
    log: list[str] = field(default_factory=list[str])
    sent: dict[int, object] = field(default_factory=dict[int, object])
    flows: dict[int, Mapping[str, str]] = field(default_factory=dict[int, Mapping[str, str]])
    files: int = 0
    _lives: int = 0

    @property
    def server(self) -> Postmaster:
        """The PostgreSQL."""
        assert self.postmaster is not None, "this scenario plays on SQLite"
        return self.postmaster

    @property
    def line(self) -> Proxy:
        """The line to PostgreSQL."""
        assert self.proxy is not None, "this scenario plays on SQLite"
        return self.proxy

    @property
    def engines(self) -> Engines:
        """The engines of the nodes."""
        assert self.at is not None, "this scenario plays without engines"
        return self.at

    def some_node(self) -> str:
        """One of the nodes that live."""
        return self.chance.choice(sorted(self.cluster.nodes))

    def begin(self, name: str) -> CronographProcess:
        """Start a node, without waiting for it."""
        self._lives += 1
        url = f"{self.proxy.url}&{SHORT_TRANSACTIONS}" if self.proxy else self.cluster.url
        full_name = f"{name.partition('-')[0]}-{self._lives}"
        # So that PostgreSQL can say which node it is that waits.
        url = f"{url}&application_name={full_name}" if self.proxy else url
        url = self.pooler.url if self.pooler else url
        if self.stepped:
            return self._begin_stepped(url, full_name)
        versions = (NEW if name.startswith(NEWER) else OLD,) if self.versions else ()
        settings = {**NODE_SETTINGS, **(self.at.settings() if self.at else {})}
        return self.cluster.begin(full_name, url=url, modules=(*MODULES, *self.modules, *versions), **settings)

    def _begin_stepped(self, url: str, name: str) -> CronographProcess:
        self.cluster.write_modules()
        port, starter = free_port(), self.cluster.starter
        words = [sys.executable, "-m", "tests.chaos.stepping_node", url, str(port), name, *MODULES]
        environment = {**os.environ, **SETTINGS, **NODE_SETTINGS, "PYTHONPATH": str(Path.cwd())}
        log = starter.folder / f"process-{len(starter.started) + 1}.log"
        with log.open("wb") as output:
            running = start_fresh(words, starter.folder, environment, output.fileno())
        process = CronographProcess(running, log, port, words)
        starter.started.append(process)
        self.cluster.nodes[name] = process
        return process

    def replace(self, name: str) -> None:
        """Start another node in the place of one that is gone, and wait for it."""
        self.begin(name).wait_ready(120)

    def set_clock(self, off: float) -> None:
        """Set the clocks of all nodes wrong by so many seconds."""
        clock = self.cluster.starter.folder / CLOCK
        clock.with_suffix(".new").write_text(str(off))
        clock.with_suffix(".new").rename(clock)

    def wait_ready(self, within: float = 120) -> None:
        """Wait until every node serves."""
        for process in list(self.cluster.nodes.values()):
            process.wait_ready(within)

    def pause(self, least: float, most: float) -> None:
        """Let a while pass, by chance."""
        let_pass(self.chance.uniform(least, most))

    def enqueue(self, job: str, retries: int = 1, **args: object) -> int:
        """Put a run into the queue, whichever node answers; its id."""
        query = (
            "mutation ($runs: [EnqueueRunInput!]!) { "
            "enqueueRuns(input: { runs: $runs }) { runs { id } errors { message } } }"
        )
        run = {"jobName": job, "args": args, "retries": retries, "retryDelay": 0.2, "timeout": 10}
        made = self.cluster.ask(query, self.some_node(), runs=[run])["enqueueRuns"]
        assert made["errors"] == [], made
        return int(made["runs"][0]["id"])

    def ask(self, query: str, asked: Mapping[str, object]) -> dict[str, Any]:
        """The data of a mutation with this input, answered by some node without errors."""
        data = self.cluster.ask(query, self.some_node(), input=asked)
        assert all(payload["errors"] == [] for payload in data.values()), data
        return data

    def come_to_rest(self, release: Callable[[], None], within: float = 180) -> None:
        """Wait until the queue is empty of what was promised, and the schedules have caught up.

        Args:
            release: Lets runs go on that would wait for ever, because nobody was told that they are there.
            within: Seconds.
        """
        self.wait_ready()
        self.cluster.wait_caught_up(within=120)
        # Runs of tasks come as fast as they go; all others have an end, and nothing that failed may be left behind.
        busy = "state = 'stuck' OR task_id IS NULL AND state IN ('waiting', 'scheduled', 'running', 'suspended')"

        def is_worked_off() -> bool:
            release()
            return not self.cluster.count("run", busy)

        try:
            wait_until(is_worked_off, within, "the queue to be worked off")
        except AssertionError as error:
            raise AssertionError(f"{error}; left are {self.cluster.unfinished(busy)}") from error
        # A node that was killed with nothing in hand holds nobody up, and is found dead when its lease is over.
        alive = "state NOT IN ('stopped', 'expired')"
        wait_until(lambda: self.cluster.count("node", alive) <= len(self.cluster.nodes), 180, "dead nodes to be found")
        if self.at is not None:
            self._see_engines_empty(self.at)

    def _see_engines_empty(self, engines: Engines) -> None:
        """Wait until nothing is left of any attempt: what has ended is forgotten, and what nobody knows leaves."""
        try:
            wait_until(lambda: not engines.left(), 60, "nothing to be left at the engines", interval=0.5)
            left = "over_at IS NULL"
            wait_until(lambda: not self.cluster.count("remote_attempt", left), 60, "all attempts there to be over")
        except AssertionError as error:
            raise AssertionError(f"{error}; left are {engines.left()[:30]}") from error


@contextmanager
def staged(
    kind: Kind,
    folder: Path,
    chance: random.Random,
    nursery: Nursery | None,
    *,
    modules: tuple[str, ...] = (),
    engines: bool = False,
) -> Generator[Stage]:
    """A stage in `folder`; all that was started there is ended with the block."""
    with ExitStack() as ends:
        stage = _stage(kind, ProcessStarter(folder, nursery), chance, ends)
        stage.modules = modules
        if engines:
            stage.at = ends.enter_context(Engines(folder, partial(_some_address, stage.cluster)))
            ends.callback(stage.cluster.starter.end_all)
        yield stage


def _stage(kind: Kind, starter: ProcessStarter, chance: random.Random, ends: ExitStack) -> Stage:
    if kind is Kind.SQLITE:
        disk = SmallDisk(starter.folder / "disk")
        ends.callback(disk.close)
        ends.callback(starter.end_all)
        return Stage(Cluster(starter, f"sqlite:///{disk.folder}/chaos.db"), chance, disk=disk)
    postmaster = Postmaster()
    ends.callback(postmaster.stop)
    proxy = ends.enter_context(Proxy(postmaster.url))
    pooler = ends.enter_context(Pooler(proxy.url, DATABASE, ROLE)) if kind is Kind.POOLED else None
    ends.callback(starter.end_all)
    cluster = Cluster(starter, postmaster.judging_url)
    stepped, versions = kind is Kind.STEPPED_CLOCKS, kind is Kind.TWO_VERSIONS
    return Stage(cluster, chance, postmaster, proxy, pooler=pooler, stepped=stepped, versions=versions)


def _some_address(cluster: Cluster) -> tuple[str, int]:
    nodes = [one for one in list(cluster.nodes.values()) if one.running]
    if not nodes:
        raise ConnectionRefusedError("there is no node")
    node = random.choice(nodes)
    return node.host, node.port
