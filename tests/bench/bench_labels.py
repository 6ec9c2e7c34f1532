"""What labels cost: labelled lists, counts and figures over a large log, and what a label adds to storing a run.

Run it from the repository's root: ``python -m tests.bench.bench_labels``; ``--help`` lists the options. It judges
nothing. Reads are those of a resolver, the look at how many runs have the label included. What a label adds is told in
processor time, of this process and on PostgreSQL of the server's, by turns with runs without one.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from statistics import median

import psutil
from sqlalchemy import Connection, text

from cronograph.jobs import RunSpec, enqueue_many_sync
from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.statements.figures import reports
from cronograph.jobs.store.statements.figures.scope import Scope
from cronograph.jobs.store.statements.listing.criteria import (
    AllOf,
    Condition,
    LabelMatch,
    Operator,
    equal,
    with_spreads,
)
from cronograph.jobs.store.statements.listing.keyset import OrderKey, PageRequest
from cronograph.jobs.store.statements.listing.pages import count, page
from cronograph.jobs.store.statements.lists import EXECUTIONS, RUNS
from cronograph.jobs.store.statements.runs import label_spreads
from tests.bench.large_log import Size, fill
from tests.bench.measuring import DATABASES, fresh_database, load, milliseconds

NEWEST = (OrderKey("id", descending=True),)
LABELS = (LabelMatch("team", ("t1",)), LabelMatch("customer", ("c7",)), LabelMatch("order", ("o42",)))
"""A fifth of all runs, a thousandth of them, and ten runs."""
MADE = "INSERT INTO {schema}run_label (key, value, run_id) SELECT '{key}', {value}, id FROM {schema}run ORDER BY 2, 3"
VALUES = {"team": "'t' || (id % 5)", "customer": "'c' || (id % 1000)", "order": "'o' || (id % 100000)"}
CHART = reports.Wanted(total=True, points=False, lateness=False, stalled=False)
RUNS_AT_ONCE = 1_000

Read = Callable[[Connection], object]


def label_all(url: str) -> None:
    """Give all runs three labels, past the product."""
    engine = sync_engine(parse_url(url))
    schema = "cronograph." if engine.dialect.name == "postgresql" else ""
    with engine.begin() as conn:
        for key, value in VALUES.items():
            conn.execute(text(MADE.format(schema=schema, key=key, value=value)))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.execute(text("ANALYZE"))
    engine.dispose()


def reads(label: LabelMatch, now: datetime) -> dict[str, Read]:
    """Return what is read of a label."""

    def listed(listing: object, *more: Condition, counted: bool) -> Read:
        def read(conn: Connection) -> object:
            found = label_spreads(conn, [label])
            criteria = with_spreads(AllOf((Condition("labels", Operator.LABELLED, label), *more)), found)
            if counted:
                return count(conn, listing, criteria)  # type: ignore[arg-type]  # of either kind
            return page(conn, listing, PageRequest(NEWEST, 50, criteria))  # type: ignore[arg-type]  # likewise

        return read

    of_job = equal("job_name", "job-007")
    scope = Scope(now - timedelta(days=1), now, label=label)
    found: dict[str, Read] = {"statistics of a day": lambda conn: reports.statistics(conn, scope, 3600, now, CHART)}
    for name, listing in (("runs", RUNS), ("executions", EXECUTIONS)):
        found[f"50 {name}"] = listed(listing, counted=False)
        found[f"count of {name}"] = listed(listing, counted=True)
        found[f"50 {name} of a job"] = listed(listing, of_job, counted=False)
        found[f"count of {name} of a job"] = listed(listing, of_job, counted=True)
    return found


def read_all(url: str, now: datetime, times: int) -> None:
    """A line for each read; on a connection that is kept, as a server has them."""
    engine = sync_engine(parse_url(url), pooled=1)
    for label in LABELS:
        for name, read in reads(label, now).items():
            taken: list[float] = []
            for _ in range(times):
                with engine.connect() as conn:
                    began = time.perf_counter()
                    read(conn)
                    taken.append(time.perf_counter() - began)
            print(f"  {label.key:9} {name:28} {milliseconds(taken[1:])}", flush=True)
    engine.dispose()


def processor_seconds() -> float:
    """Of this process, and of its children: the PostgreSQL of this benchmark is one."""
    me = psutil.Process()
    return sum(sum(one.cpu_times()[:2]) for one in (me, *me.children(recursive=True)))


def storing(url: str, rounds: int) -> None:
    """What a label adds to a run, in microseconds, the median of some rounds."""
    engine = sync_engine(parse_url(url), pooled=1)
    added: list[float] = []
    plain: list[float] = []
    for turn in range(rounds):
        used: dict[bool, float] = {}
        for labelled in (True, False) if turn % 2 else (False, True):
            specs = [
                RunSpec("nothing", {"n": place}, labels={"customer": f"c{place % 100}"} if labelled else None)
                for place in range(RUNS_AT_ONCE)
            ]
            began = processor_seconds()
            for _ in range(10):
                with engine.begin() as conn:
                    enqueue_many_sync(conn, specs)
            used[labelled] = (processor_seconds() - began) / (10 * RUNS_AT_ONCE) * 1e6
        added.append(used[True] - used[False])
        plain.append(used[False])
    engine.dispose()
    print(f"  a label adds {median(added):.1f} us to a run, which takes {median(plain):.1f} us ({rounds} rounds)")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=DATABASES, action="append", help="both unless given")
    parser.add_argument("--executions", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=11, help="how often each read")
    parser.add_argument("--rounds", type=int, default=9, help="of storing")
    chosen = parser.parse_args(arguments)
    print(load())
    for kind in chosen.database or DATABASES:
        print(kind, flush=True)
        with fresh_database(kind) as url:
            storing(url, chosen.rounds)
        with fresh_database(kind) as url:
            size = Size(chosen.executions, 1_000, datetime.now(UTC))
            fill(url, size)
            label_all(url)
            read_all(url, size.now, chosen.times)


if __name__ == "__main__":
    main()
