"""The lines of the table in docs/performance.md: what each measures in a round, and the rows that it fills."""

import functools
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.bench import bench_drain
from tests.bench.measuring import percentile
from tests.bench.peers import kinds, run
from tests.bench.peers.run import FOLDER, Contender
from tests.bench.table import ours
from tests.bench.table.places import Places, apart
from tests.bench.table.rows import Row, Sample

DRAINED = 20_000
"""So many runs are drained beside what waits, in groups, and beside the log."""
APSCHEDULER = Contender("apscheduler", ("apscheduler>=3,<4",))
Pythons = Mapping[str, str]
"""By the file of a contender, the interpreter that has it; who is missing there is not measured."""
Measured = Iterator[tuple[str, Sample]]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table.

    Attributes:
        name: By which it is chosen.
        rows: What it fills, in this order.
        measure: One round, given the databases and the interpreters of the contenders.
    """

    name: str
    rows: Sequence[Row]
    measure: Callable[[Places, Pythons], Measured]


_ALONE = "60,000 in one group"


def _waiting(places: Places, _pythons: Pythons) -> Measured:
    for name, waiting in ((_ALONE, 60_000), ("200,000 in one group", 200_000), ("1,000,000 in one group", 1_000_000)):
        with places.waiting(places.size(waiting, 60)) as url:
            yield name, apart(ours.drained, places.pid, url, places.size(DRAINED), 0)


def _groups(places: Places, _pythons: Pythons) -> Measured:
    for groups in (1, 50, 1_000):
        with places.empty() as url:
            yield _groups_of(groups), apart(ours.drained, places.pid, url, places.size(DRAINED), groups)


def _groups_of(number: int) -> str:
    return f"{number:,} group{'s' * (number > 1)}, drained"


def _keys(places: Places, _pythons: Pythons) -> Measured:
    for keys in (0, 10_000, 10):
        with places.empty() as url:
            yield (
                _keys_of(keys),
                apart(ours.drained, places.pid, url, places.size(DRAINED if keys != 10 else 2_000), 1, keys),
            )


def _keys_of(number: int) -> str:
    return f"{number:,} keys of one run at once, drained" if number else "no keys, drained"


def _snapshot(places: Places, _pythons: Pythons) -> Measured:
    with places.empty() as url:
        yield _FREE, apart(ours.drained, places.pid, url, places.size(100_000), 1)
    with places.empty() as url:
        yield (
            "a snapshot held open, drained",
            apart(ours.drained_beside_a_snapshot, places.pid, url, places.size(100_000)),
        )


_FREE = "100,000 runs, drained"


def _serve(places: Places, _pythons: Pythons) -> Measured:
    for kind, shown in (("postgres", "PostgreSQL"), ("sqlite", "SQLite")):
        server = places.pid if kind == "postgres" else None
        for line in bench_drain.LINES:
            if server or bench_drain.LINES[line][1] == 1:
                with places.empty(kind) as url:
                    yield _served(line, shown), apart(ours.served, server, url, line, places.part)
        with places.empty(kind) as url:
            yield (
                f"500 runs a second in fifties, {shown}",
                apart(ours.steady, server, url, max(1.0, 20.0 * places.part)),
            )


def _served(line: str, database: str) -> str:
    return f"served: {line}, {database}"


def _start(places: Places, _pythons: Pythons) -> Measured:
    with places.empty("sqlite") as url:
        ready, memory = apart(ours.idle, url)
        yield "a server that is idle is ready after", ready
        yield "its memory", memory


def _one(places: Places, pythons: Pythons) -> Measured:
    runs = places.size(3_000)
    if python := pythons.get("pgqueuer"):
        with places.bare() as url:
            yield _ONE_OF_OTHERS, _one_of_pgqueuer(python, url, runs)
    with places.empty() as url:
        yield "one enqueue in a transaction of its own", apart(ours.enqueued, url, runs)
        yield "one enqueue in the caller's transaction", apart(ours.enqueued, url, runs, in_transactions=True)


_ONE_OF_OTHERS = "one enqueue in a transaction of its own, pgqueuer"


def _one_of_pgqueuer(python: str, url: str, runs: int) -> Sample:
    took = _said(python, "one_pgqueuer.py", url, str(runs))
    return Sample(runs / took["took"], took["cpu"] / runs * 1e6)


def _log(places: Places, _pythons: Pythons) -> Measured:
    with places.empty() as url:
        yield "an empty log, drained", apart(ours.drained, places.pid, url, places.size(DRAINED), 1)
    with places.month(places.size(2_000_000, 1_000)) as url:
        yield "2 million executions, drained", apart(ours.drained, places.pid, url, places.size(DRAINED), 1)


def _kinds(kind: str, work: str, places: Places, pythons: Pythons) -> Measured:
    runs = places.size(kinds.TASKS[kind, work], 10)
    for name, way in kinds.WAYS.items():
        if kinds.does(way, kind, work) and (python := pythons.get(way.contender.file)):
            took = kinds.once(way, python, places.server, work, runs)
            yield _kind(name, work), Sample(took["runs/s"], took["µs"])


def _kind(way: str, work: str) -> str:
    return f"{WORK[work]}, {way}"


WORK = {"nothing": "nothing", "sleep5": "5 ms of sleep", "cpu20": "20 ms of CPU", "import200": "imports 200 ms"}


def _peers(names: Sequence[str], places: Places, pythons: Pythons) -> Measured:
    for name in names:
        contender = run.CONTENDERS[name]
        if python := pythons.get(contender.file):
            runs = places.size(round(20_000 * contender.part))
            took = run.once(contender, python, places.server, runs)
            server = took["server µs"] if contender.place == "postgres" else None
            yield _peer(name), Sample(took["drained/s"], took["worker µs"], server)


def _peer(name: str) -> str:
    return f"coroutines, {name}"


def _due(places: Places, pythons: Pythons) -> Measured:
    for kind, shown in (("postgres", "PostgreSQL"), ("sqlite", "SQLite")):
        for tasks in (1_000, 10_000):
            with places.empty(kind) as url:
                yield f"{tasks:,} due at once, {shown}, p99", apart(ours.due, url, places.size(tasks, 3))
    if python := pythons.get(APSCHEDULER.file):
        yield _IN_MEMORY, _apscheduler(python, places.size(10_000, 3))


_IN_MEMORY = "10,000 due at once, APScheduler in memory, p99"


def _apscheduler(python: str, tasks: int) -> Sample:
    took = _said(python, "due_apscheduler.py", str(tasks))
    return Sample(percentile(took["late"], 0.99) * 1e3, took["cpu"] / tasks * 1e6)


def _said(python: str, file: str, *words: str) -> Any:
    command, environment = [python, str(FOLDER / file), *words], {**os.environ, "PYTHONPATH": "."}
    ended = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ended.stdout)


def _overview(places: Places, _pythons: Pythons) -> Measured:
    for kind, shown in (("postgres", "PostgreSQL"), ("sqlite", "SQLite")):
        with places.busy_hour(kind, places.size(81_000)) as url:
            for document in ("running", "overview"):
                yield f"{document}, {shown}", _answer(places, kind, url, document, 200)


def _pages(places: Places, _pythons: Pythons) -> Measured:
    for kind, shown in (("postgres", "PostgreSQL"), ("sqlite", "SQLite")):
        with places.month(places.size(20_000, 1_000), kind) as url:
            for document in ("strips", "log page", "jobLogs(100)"):
                yield f"{document}, {shown}", _answer(places, kind, url, document, 200)


def _longest(places: Places, _pythons: Pythons) -> Measured:
    for kind, shown, executions in (("postgres", "PostgreSQL", 2_000_000), ("sqlite", "SQLite", 1_000_000)):
        with places.month(places.size(executions, 1_000), kind) as url:
            for document in ("longest", "longest of a job"):
                yield f"{document}, {shown}", _answer(places, kind, url, document, 3, by_clock=True)


def _answer(places: Places, kind: str, url: str, document: str, times: int, *, by_clock: bool = False) -> Sample:
    server = places.pid if kind == "postgres" else None
    return apart(ours.answered, server, url, document, times, by_clock=by_clock)


def _kind_line(name: str, kind: str, work: str, *rows: Row) -> Line:
    return Line(name, rows, functools.partial(_kinds, kind, work))


def _peer_line(name: str, *rows: Row) -> Line:
    names = [row.name.removeprefix(_peer("")) for row in rows]
    return Line(name, rows, functools.partial(_peers, names))


LINES: Sequence[Line] = (
    Line("queue", (
        Row(_ALONE, before="14,988"),
        Row("200,000 in one group", before="1,139", aim=0.9, against=_ALONE),
        Row("1,000,000 in one group", before="75", aim=0.9, against=_ALONE),
    ), _waiting),
    _kind_line("def", "thread", "nothing",
        Row("nothing, huey threads"),
        Row("nothing, cronograph", before="3,922", aim=0.9, against="nothing, huey threads"),
        Row("nothing, cronograph, SQLite", before="3,813", aim=0.9, against="nothing, huey threads"),
        Row("nothing, dramatiq threads"),
        Row("nothing, celery threads"),
    ),
    _kind_line("sleep", "thread", "sleep5",
        Row("5 ms of sleep, cronograph", before="1,952", aim=0.95 * kinds.IDEAL["sleep5"]),
        Row("5 ms of sleep, cronograph, SQLite", aim=0.95 * kinds.IDEAL["sleep5"]),
        Row("5 ms of sleep, huey threads"),
        Row("5 ms of sleep, dramatiq threads"),
        Row("5 ms of sleep, celery threads"),
    ),
    _kind_line("process", "process", "nothing",
        Row("nothing, cronograph, a fork each", before="59"),
        Row("nothing, cronograph, preloaded", aim=400),
        Row("nothing, cronograph, reused", aim=2_000),
        Row("nothing, rq, a fork each"),
        Row("nothing, huey, processes kept"),
        Row("nothing, celery, processes kept"),
    ),
    _kind_line("cpu", "process", "cpu20",
        Row("20 ms of CPU, cronograph, a fork each", before="37"),
        Row("20 ms of CPU, cronograph, preloaded", aim=0.95 * kinds.IDEAL["cpu20"]),
        Row("20 ms of CPU, cronograph, reused", aim=0.95 * kinds.IDEAL["cpu20"]),
        Row("20 ms of CPU, rq, a fork each"),
        Row("20 ms of CPU, huey, processes kept"),
        Row("20 ms of CPU, celery, processes kept"),
    ),
    _kind_line("import", "process", "import200",
        Row("imports 200 ms, cronograph, a fork each", before="12"),
        Row("imports 200 ms, cronograph, preloaded"),
        Row("imports 200 ms, cronograph, reused"),
    ),
    _peer_line("peers",
        Row("coroutines, pgqueuer"),
        Row("coroutines, cronograph", before="19.7k", aim=1.0, against="coroutines, pgqueuer"),
        Row("coroutines, pgqueuer, 2 processes"),
        Row("coroutines, cronograph, 2 processes", before="23.6k", aim=0.9,
            against="coroutines, pgqueuer, 2 processes"),
        Row("coroutines, huey, SQLite"),
        Row("coroutines, cronograph, SQLite", before="20.6k", against="coroutines, huey, SQLite"),
        Row("coroutines, oban"),
    ),
    Line("groups", (
        Row(_groups_of(1), before="15k"),
        Row(_groups_of(50), before="7.1k", aim=0.8, against=_groups_of(1)),
        Row(_groups_of(1_000), before="7.5k", aim=0.8, against=_groups_of(1)),
    ), _groups),
    Line("keys", (
        Row(_keys_of(0)),
        Row(_keys_of(10_000), before="0.40 of no keys", aim=0.7, against=_keys_of(0)),
        Row(_keys_of(10), before="0.09 of no keys", aim=0.4, against=_keys_of(0)),
    ), _keys),
    Line("snapshot", (
        Row(_FREE),
        Row("a snapshot held open, drained", aim=0.8, against=_FREE),
    ), _snapshot),
    Line("serve", (
        *(Row(_served(line, "PostgreSQL")) for line in bench_drain.LINES),
        Row("500 runs a second in fifties, PostgreSQL", "% of a core"),
        *(Row(_served(line, "SQLite")) for line, (_, processes, _) in bench_drain.LINES.items() if processes == 1),
        Row("500 runs a second in fifties, SQLite", "% of a core"),
    ), _serve),
    Line("start", (
        Row("a server that is idle is ready after", "s", before="1.6", aim=1.0),
        Row("its memory", "MB", before="110", aim=100),
    ), _start),
    Line("enqueue", (
        Row(_ONE_OF_OTHERS),
        Row("one enqueue in a transaction of its own", aim=0.9, against=_ONE_OF_OTHERS),
        Row("one enqueue in the caller's transaction", before="0.45 of it", against=_ONE_OF_OTHERS),
    ), _one),
    Line("log", (
        Row("an empty log, drained", before="15–20k"),
        Row("2 million executions, drained", before="5–7k", against="an empty log, drained"),
    ), _log),
    Line("due", (
        Row("1,000 due at once, PostgreSQL, p99", "ms", aim=100),
        Row("10,000 due at once, PostgreSQL, p99", "ms", before="1,072 ms", aim=600),
        Row("1,000 due at once, SQLite, p99", "ms", aim=100),
        Row("10,000 due at once, SQLite, p99", "ms", aim=600),
        Row(_IN_MEMORY, "ms"),
    ), _due),
    Line("overview", (
        Row("running, PostgreSQL", "ms", before="59 ms", aim=5),
        Row("overview, PostgreSQL", "ms", aim=5),
        Row("running, SQLite", "ms", aim=5),
        Row("overview, SQLite", "ms", aim=5),
    ), _overview),
    Line("pages", (
        Row("strips, PostgreSQL", "ms", before="84 ms", aim=10),
        Row("strips, SQLite", "ms", before="119 ms", aim=10),
        Row("log page, PostgreSQL", "ms", before="6.8 ms", aim=3),
        Row("log page, SQLite", "ms", aim=3),
        Row("jobLogs(100), PostgreSQL", "ms", before="2.0 ms"),
        Row("jobLogs(100), SQLite", "ms"),
    ), _pages),
    Line("longest", (
        Row("longest, PostgreSQL", "ms", before="614 ms", aim=50),
        Row("longest of a job, PostgreSQL", "ms", aim=50),
        Row("longest, SQLite", "ms", before="835 ms", aim=50),
        Row("longest of a job, SQLite", "ms", aim=50),
    ), _longest),
)  # fmt: skip
"""In the order in which a round takes them."""


def contenders() -> dict[str, Contender]:
    """Those that need an environment, or this project's, by file."""
    known = [
        *(way.contender for way in kinds.WAYS.values()),
        *(run.CONTENDERS[name] for name in ("pgqueuer", "oban")),
        APSCHEDULER,
    ]
    return {one.file: one for one in known}


def versions(pythons: Pythons) -> str:
    """Return which packages the contenders are, with their versions."""
    found: list[str] = []
    for file, contender in contenders().items():
        for package in contender.packages if file in pythons else ():
            name = package.partition("[")[0].partition(">")[0]
            asked = f"import importlib.metadata as m; print(m.version({name!r}))"
            said = subprocess.run([pythons[file], "-c", asked], stdout=subprocess.PIPE, text=True, check=True)
            found.append(f"{name} {said.stdout.strip()}")
    return ", ".join(dict.fromkeys(found))
