"""What labels cost: a labelled list and count over a large log, and what a label adds to storing a run, by turns.

Run it from the repository's root: ``python -m tests.bench.bench_labels``; ``--help`` lists the options. It judges
nothing. A read is that of a resolver, with the look at how many runs have the label.
"""

import argparse
import random
import time
from collections.abc import Callable, Sequence

import uvloop
from sqlalchemy import Connection, text

from cronograph.jobs import RunSpec, enqueue_many_sync
from cronograph.jobs.store.db.database import Database, parse_url, sync_engine
from cronograph.jobs.store.read.figures.reports import Wanted
from cronograph.jobs.store.read.figures.scope import Scope
from cronograph.jobs.store.read.figures import statistics
from cronograph.jobs.store.read.labels import spreads
from cronograph.jobs.store.read.listing.criteria import AllOf, Condition, Criteria, LabelMatch, Operator, equal, with_spreads
from cronograph.jobs.store.read.listing.keyset import OrderKey, PageRequest
from cronograph.jobs.store.read.listing.listing import Listing
from cronograph.jobs.store.read.listing.pages import count, page
from cronograph.jobs.store.read.lists import EXECUTIONS, RUNS
from tests.bench.large_log import Size, fill
from tests.bench.measuring import DATABASES, cpu_seconds, fresh_database, load, milliseconds
