"""Batched reads of one operation: however many rows ask for the same kind of thing, one statement answers them."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from operator import attrgetter
from typing import Any, Final, TypeVar

from ...jobs.accounts.statements import secrets as stored_secrets
from ...jobs.builtin.prune import DEFAULT_AGE_DAYS, JOB
from ...jobs.core.base.errors import UnreadableRow
from ...jobs.core.defaults import JobInfo, Retained
from ...jobs.core.explain import Explanation, RunFacts, explain_run, explain_task
from ...jobs.core.flows import Flow
from ...jobs.core.model import Execution, Group, Run, SkippedOccurrence, Task
from ...jobs.core.nodes import Node
from ...jobs.core.remote import RemoteAttempt
from ...jobs.core.states import FINAL, RunState
from ...jobs.core.steps import Step
from ...jobs.delivery.read import firings_by_id
from ...jobs.delivery.rules import Firing
from ...jobs.delivery.webhooks import places
from ...jobs.store.db.database import Connection, Database
from ...jobs.store.statements import executions, facts, flows, logs, runs, tasks
from ...jobs.store.statements import groups as stored_groups
from ...jobs.store.statements import jobs as stored_jobs
from ...jobs.store.statements import nodes as stored_nodes
from ...jobs.store.statements.figures import depth as stalled_tasks
from ...jobs.store.statements.figures.strips import Strip, strips_of_tasks
from ...jobs.store.statements.listing import pages, searching
from ...jobs.store.statements.listing.criteria import Criteria, LabelMatch, Spread
from ...jobs.store.statements.listing.keyset import Page, PageRequest
from ...jobs.store.statements.listing.listing import Listing
from ...jobs.store.statements.listing.searching import Counted, Keys, capped
from ...jobs.store.statements.prunable import keeping
from ..guard.searches import Searches
from .data_loader import MAX_BATCH, Children, DataLoader, Reader, by_key, by_key_and_slice

SLICE_SECONDS: Final = 0.005
"""Processor time of the event loop's thread after which those who compute make a pause."""

PAUSE_SECONDS: Final = 0.005
"""Least length of a pause."""


class Slices:
    """Let the computing resolvers of one operation take turns.

    Hundreds of them are often ready at once, since one statement answered them all: without a pause the loop would do
    all their work before it looks at anything else.
    """

    def __init__(self) -> None:
        self._began = time.thread_time()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._admitting = False

    async def turn(self) -> None:
        """Wait for a turn to compute for some milliseconds at most; return at once unless the slice is over."""
        if not self._waiting and not self._over():
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        if not self._admitting:
            self._admitting = True
            self._pause()
        await place

    def _over(self) -> bool:
        return time.thread_time() - self._began >= SLICE_SECONDS

    def _pause(self) -> None:
        asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._begin)

    def _begin(self) -> None:
        self._began = time.thread_time()
        self._admit()

    def _admit(self) -> None:
        """Give the next one its turn, and look again afterwards."""
        while self._waiting and self._waiting[0].done():
            # Cancelled with its operation.
            self._waiting.popleft()
        if not self._waiting:
            self._admitting = False
        elif self._over():
            self._pause()
        else:
            self._waiting.popleft().set_result(None)
            # Behind the one that was just called.
            asyncio.get_running_loop().call_soon(self._admit)


def retained(conn: Connection, now: datetime) -> Retained:
    """Return the present retention; without a task that prunes, the one that its defaults would give."""
    task = tasks.by_name(conn, JOB)
    args = {} if task is None else task.spec.args
    usual = timedelta(days=args.get("max_age_days", DEFAULT_AGE_DAYS))
    return Retained(
        keeping(conn, now, usual),
        args.get("max_per_task"),
        None if task is None else task.name,
        is_paused=task is not None and task.paused,
    )


class FlowLoaders:
    """Load flows and their parts by key. Results are remembered for the duration of one operation."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @cached_property
    def by_id(self) -> DataLoader[int, Flow | None]:
        """Flows by key."""
        return by_key(self._database, flows.by_ids, missing=None)

    @cached_property
    def progress(self) -> DataLoader[int, Mapping[RunState, int]]:
        """Return how many runs of flows are in which state."""
        return by_key(self._database, flows.progress, missing={})

    @cached_property
    def by_job(self) -> DataLoader[int, Sequence[flows.OfJob]]:
        """The runs of flows, counted by job."""
        return by_key(self._database, flows.by_job, missing=())

    @cached_property
    def members(self) -> DataLoader[int, flows.Member | None]:
        """The places of runs in their flows."""
        return by_key(self._database, flows.members_by_run, missing=None)

    @cached_property
    def before(self) -> DataLoader[int, Sequence[int]]:
        """The runs that runs come after."""
        return by_key(self._database, flows.before, missing=())


KEY_OF_ROW: Final[Callable[[Any], int]] = attrgetter("id")
"""Returns the key of a row that was read as a whole."""


@dataclass(frozen=True, slots=True)
class ListKey:
    """A page of a whole list.

    Attributes:
        listing: The list, or some of its columns.
        newest: Of tasks, the columns of the newest finished execution of each, read together with its row.
        strip: Of tasks, the number of occurrences in the strip of each, which comes with all else of it; None = it
            does not.
        key_of: Returns the key of a row as it is read.
    """

    listing: Listing[Any]
    request: PageRequest
    newest: Listing[Any] | None = None
    strip: int | None = None
    key_of: Callable[[Any], int] = KEY_OF_ROW


@dataclass(frozen=True, slots=True)
class SearchKey:
    """A page of a whole list for which rows are searched; ``bounded`` ends the search after so many.

    Attributes:
        bounded: Whether the search ends after ``REACH`` rows.
    """

    listing: Listing[Any]
    read: ListKey
    bounded: bool


K = TypeVar("K")
M = TypeVar("M")


class Loaders:
    """Everything that one operation reads by key. Results are remembered for its duration.

    Each loader is made when it is first asked for: a subscription gets new ones with each event, and uses few of them.

    Args:
        slices: Where computations take turns with the rest of the operation.
        searches: How rows are read that no index finds; None = as any others.
        left_out: Gets, by their messages, the rows that lists leave out because they cannot be read.
    """

    def __init__(
        self,
        database: Database,
        slices: Slices,
        searches: Searches | None = None,
        left_out: dict[str, UnreadableRow] | None = None,
    ) -> None:
        self._database = database
        self._left_out = {} if left_out is None else left_out
        self._children: dict[tuple[Listing[Any], str, bool], Children[Any]] = {}
        self._slices = slices
        self.searches = searches

    @cached_property
    def tasks(self) -> DataLoader[int, Task | None]:
        """Tasks by key."""
        return self._by_key(tasks.by_ids)

    @cached_property
    def tasks_by_name(self) -> DataLoader[str, Task | None]:
        """Tasks by name."""
        return self._by_key(tasks.by_names)

    @cached_property
    def secret_users(self) -> DataLoader[str, Sequence[str]]:
        """The names of the tasks that refer to secrets, by the secret's name."""
        return by_key(self._database, lambda conn, _: stored_secrets.users(conn), missing=())

    @cached_property
    def runs(self) -> DataLoader[int, Run | None]:
        """Runs by key."""
        return self._by_key(runs.by_ids)

    @cached_property
    def recovered(self) -> DataLoader[int, bool]:
        """Return whether runs, or their retries, succeeded, by the key of the run."""
        return by_key(self._database, runs.recovered, missing=False)

    @cached_property
    def alarm_firings(self) -> DataLoader[int, Firing | None]:
        """Firings of alarms by key."""
        return self._by_key(firings_by_id)

    @cached_property
    def webhook_places(self) -> DataLoader[str, tuple[str, int] | None]:
        """The cursors of webhooks, and how many of their messages wait."""
        return self._by_key(places)

    @cached_property
    def flows(self) -> FlowLoaders:
        """Flows, and the places of runs in them."""
        return FlowLoaders(self._database)

    @cached_property
    def executions(self) -> DataLoader[int, Execution | None]:
        """Executions by key."""
        return self._by_key(executions.by_ids)

    @cached_property
    def skipped(self) -> DataLoader[int, SkippedOccurrence | None]:
        """Skipped occurrences by key."""
        return self._by_key(tasks.skipped_by_ids)

    @cached_property
    def nodes_by_name(self) -> DataLoader[str, Node | None]:
        """Nodes by name."""
        return self._by_key(stored_nodes.newest_by_names)

    @cached_property
    def jobs(self) -> DataLoader[str, JobInfo | None]:
        """Jobs by name."""
        return self._by_key(stored_jobs.by_names)

    @cached_property
    def declaring(self) -> DataLoader[str, list[str] | None]:
        """The live nodes whose code declares a schedule of a job, by its name; None = there is none."""
        return self._by_key(stored_jobs.declaring)

    @cached_property
    def group_settings(self) -> DataLoader[str, Group | None]:
        """Load the stored settings of groups, by name."""
        return self._by_key(stored_groups.by_names)

    @cached_property
    def task_explanations(self) -> DataLoader[Task, Explanation]:
        """Load the explanations of why tasks are or are not running.

        All of a batch are there at once, although they are computed a slice at a time: the next reads about each of
        them are done for all of them.
        """
        return DataLoader(self._explain_tasks, max_batch_size=MAX_BATCH, cache_key_fn=lambda task: task.id)

    @cached_property
    def run_explanations(self) -> DataLoader[Run, Explanation]:
        """Load the explanations of the states of runs; a batch at once, as those of tasks."""
        return DataLoader(self._explain_runs, max_batch_size=MAX_BATCH, cache_key_fn=lambda run: run.id)

    @cached_property
    def depths(self) -> DataLoader[str, stored_groups.Depth]:
        """Return how many runs of a group wait, by its name."""
        return DataLoader(self._load_depths, max_batch_size=MAX_BATCH)

    @cached_property
    def running_on(self) -> DataLoader[int, int]:
        """Return how many runs a node executes, by its id."""
        return by_key(self._database, runs.running_on, missing=0)

    @cached_property
    def strips(self) -> DataLoader[tuple[int, int], Strip]:
        """The newest occurrences of tasks, by the task's id and how many."""
        return DataLoader(self._load_strips, max_batch_size=MAX_BATCH)

    @cached_property
    def lines(self) -> DataLoader[tuple[int, int, int], logs.LogPart]:
        """Pages of log lines, by the execution's id, the line before them, and how many."""
        return by_key_and_slice(self._database, logs.parts_after)

    @cached_property
    def steps(self) -> DataLoader[tuple[int, int, int], list[Step]]:
        """Some steps of runs, by the run's id, how many, and how many before them are left out."""
        return by_key_and_slice(self._database, runs.steps_of_runs)

    @cached_property
    def remote_attempts(self) -> DataLoader[int, RemoteAttempt | None]:
        """The attempts at engines, by the execution's id."""
        return by_key(self._database, executions.remote_attempts, missing=None)

    @cached_property
    def step_counts(self) -> DataLoader[int, int]:
        """The numbers of steps of runs."""
        return by_key(self._database, runs.step_counts, missing=0)

    @cached_property
    def _lists(self) -> DataLoader[ListKey, Page[Any]]:
        return DataLoader(self._load_lists)

    def children(self, listing: Listing[M], field: str, *, searched: bool = False) -> Children[M]:
        """Return the loader of rows by the parent that ``field`` names, e.g. runs of tasks by ``RUNS, "task_id"``."""
        place = (listing, field, searched)
        if place not in self._children:
            reader = (searched and self.searches) or self._database
            self._children[place] = Children(reader, listing, field, self._shown)
        return self._children[place]

    @cached_property
    def keys(self) -> DataLoader[Listing[Any], Keys]:
        """The smallest and the largest key of a list, if it is one of those with indexes."""
        searches = self.searches
        assert searches is not None, "asked for to judge searches"

        async def load(listings: list[Listing[Any]]) -> list[Keys]:
            return [await searches.keys(self._database, listing) for listing in listings]

        return DataLoader(load)

    @cached_property
    def _clock(self) -> DataLoader[None, datetime]:
        return DataLoader(self._load_now)

    async def now(self) -> datetime:
        """Return the database's time, read once, however many ask for it at once."""
        return await self._clock.load(None)

    async def _load_now(self, keys: list[None]) -> list[datetime]:
        return [await self._database.server_time()] * len(keys)

    async def live_nodes(self) -> list[Node]:
        """Return the nodes not known to have stopped or died, read once."""
        return await self._live_nodes.load(None)

    @cached_property
    def _live_nodes(self) -> DataLoader[None, list[Node]]:
        async def load(keys: list[None]) -> list[list[Node]]:
            return [await self._database.read(stored_nodes.live)] * len(keys)

        return DataLoader(load)

    @cached_property
    def spreads(self) -> DataLoader[LabelMatch, Spread]:
        """Return whether few or many runs have a label."""

        async def load(labels: list[LabelMatch]) -> list[Spread]:
            found = await self._database.read(runs.label_spreads, labels)
            return [found[label] for label in labels]

        return DataLoader(load)

    async def judged(self, criteria: Criteria) -> Criteria:
        """Return the same condition with keys in place of values that no column of tasks holds."""
        if not stalled_tasks.is_judged(criteria):
            return criteria
        return await self._database.read(stalled_tasks.judged, criteria, await self.now())

    @cached_property
    def is_stalled(self) -> DataLoader[Task, bool]:
        """Return whether tasks that were read already should have started and did not."""

        async def load(tasks: list[Task]) -> list[bool]:
            found = set(await self._database.read(stalled_tasks.stalled_of, tasks, await self.now()))
            return [task.id in found for task in tasks]

        return DataLoader(load, max_batch_size=MAX_BATCH, cache_key_fn=lambda task: task.id)

    async def page(self, listing: Listing[M], request: PageRequest) -> Page[M]:
        """Return one page of a whole list."""
        return await self.listed(ListKey(listing, request))

    async def listed(self, key: ListKey) -> Page[Any]:
        """Return one page of a whole list, with the additions to its rows."""
        return await self._lists.load(key)

    async def searched(self, key: SearchKey) -> Page[Any]:
        """Return one page of a whole list, searched for."""
        return await self._searched.load(key)

    @cached_property
    def _searched(self) -> DataLoader[SearchKey, Page[Any]]:
        async def load(keys: list[SearchKey]) -> list[Page[Any] | BaseException]:
            return await asyncio.gather(*map(self._search, keys), return_exceptions=True)

        return DataLoader(load)

    async def _search(self, key: SearchKey) -> Page[Any]:
        reader: Reader = self.searches or self._database
        if key.bounded:
            return self._shown(await reader.read(_searched, key))
        return self._shown(await reader.read(_page, key.read))

    async def searched_number(self, listing: Listing[Any], criteria: Criteria, *, bounded: bool) -> Counted:
        """Return how many rows are found by a search."""
        reader: Reader = self.searches or self._database
        if bounded:
            return await reader.read(searching.searched_number, listing, criteria)
        return capped(await reader.read(pages.count, listing, criteria))

    async def count(self, listing: Listing[Any], criteria: Criteria) -> int:
        """Return how many rows of a whole list meet ``criteria``, counted up to the cap and one more."""
        return await self._counts.load((listing, criteria))

    @cached_property
    def _counts(self) -> DataLoader[tuple[Listing[Any], Criteria], int]:
        def read(conn: Connection, keys: list[tuple[Listing[Any], Criteria]]) -> list[int]:
            return [pages.count(conn, *key) for key in keys]

        # One after the other on one connection: twenty at once would take those of everybody.
        return DataLoader(lambda keys: self._database.read(read, keys))

    @cached_property
    def last_finished(self) -> DataLoader[int, Execution | None]:
        """The newest finished execution of a task, by the task's id."""
        return self._by_key(executions.newest_finished)

    def _by_key(self, read: Callable[[Any, list[K]], dict[K, M]]) -> DataLoader[K, M | None]:
        return by_key(self._database, read, missing=None)

    def without_unreadable(self, rows: Iterable[M | UnreadableRow]) -> Iterator[M]:
        """Yield the rows of a list that can be read; the answer names the others in ``errors``."""
        for row in rows:
            if isinstance(row, UnreadableRow):
                self._left_out[row.message] = row
            else:
                yield row

    def _shown(self, page: Page[M]) -> Page[M]:
        self._left_out.update((fault.message, fault) for fault in page.unreadable)
        return page

    async def _load_lists(self, keys: list[ListKey]) -> list[Page[Any]]:
        def read(conn: Connection) -> list[Page[Any]]:
            return [_page(conn, key) for key in keys]

        return list(map(self._shown, await self._database.read(read)))

    async def _explain_tasks(self, tasks: list[Task]) -> list[Explanation]:
        now = await self.now()
        found = await self._database.read(facts.of_tasks, tasks, now)
        explained = list[Explanation]()
        for task in tasks:
            await self._slices.turn()
            explained.append(explain_task(task, found[task.id], now))
        return explained

    async def _explain_runs(self, runs: list[Run]) -> list[Explanation]:
        now = await self.now()
        found = await self._database.read(facts.of_runs, runs, now)
        over = await self._database.read(retained, now) if any(run.state in FINAL for run in runs) else None
        explained = list[Explanation]()
        for run in runs:
            await self._slices.turn()
            known = found.get(run.id) or RunFacts(
                job_known=False, isolation=None, nodes=(), group=Group(run.group), retention=over
            )
            explained.append(explain_run(run, known, now))
        return explained

    async def _load_depths(self, names: list[str]) -> list[stored_groups.Depth]:
        found = await self._database.read(stored_groups.depths, names, await self.now())
        return [found[name] for name in names]

    async def _load_strips(self, keys: list[tuple[int, int]]) -> list[Strip]:
        found: dict[tuple[int, int], Strip] = {}
        for size in {size for _, size in keys}:
            read = await self._database.read(strips_of_tasks, [task for task, asked in keys if asked == size], size)
            found |= {(task, size): strip for task, strip in read.items()}
        return [found[key] for key in keys]


def _page(conn: Connection, key: ListKey) -> Page[Any]:
    if key.newest is None:
        return _with_strips(conn, key, pages.page(conn, key.listing, key.request))
    return _with_strips(conn, key, pages.page_with_newest(conn, key.listing, key.newest, key.request))


def _searched(conn: Connection, key: SearchKey) -> Page[Any]:
    read = key.read
    return _with_strips(conn, read, searching.searched(conn, key.listing, read.request, read.listing))


def _with_strips(conn: Connection, key: ListKey, page: Page[Any]) -> Page[Any]:
    """Return the page, each row with its strip if these are read."""
    if key.strip is None:
        return page
    ids = list(map(key.key_of, page.items))
    strips = strips_of_tasks(conn, ids, key.strip)
    return replace(page, items=tuple((item, strips[one]) for item, one in zip(page.items, ids, strict=True)))
