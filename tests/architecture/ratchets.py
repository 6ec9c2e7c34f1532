"""Measure how large the product is, what a change of it costs, and how it is worded.

`python -m tests.architecture.ratchets` prints the table. Each number may fall and never rise: `MOST` has the numbers
that hold today, and `test_ratchets.py` compares them. After a change that lowers one, write the lower number there.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from tests.docs.messages import messages_of
from tests.support.sources import PRODUCT_FOLDERS, ROOT, Source, read_sources

MOST: Final[Mapping[str, float]] = {
    # Raised by 1 and 500 for the typed errors of the API, dry runs of all mutations, job.cancel and job.signal in the
    # author's transaction, and full claims by kind.
    # Raised by 3 and 1,200 for changes of runs in the author's transaction, batches, and the backend of Django's tasks.
    # Raised by 670 for a type for each kind of event, lists that are connections, and descriptions of the API that make
    # sense alone.
    # Raised by 280 for whole sentences at each field of an input, and the options of commands and client functions.
    # Raised by 1 and 400 for bulk actions, which survive their node and can be undone, for counts of filtered
    # executions, and for nodes that fall silent.
    # Raised by 1 and 500 for the page on which people without an account answer, and the form on it.
    # Raised by 1 and 350 for cleanups of runs that failed or were cancelled.
    # Raised by 400 for flows that are made again from one of their runs on, know who started them, and have deadlines.
    # Raised by 1 and 150 for tables in two parts on PostgreSQL, in the place of a second set of tables and statements.
    # Raised by 16 and 4,350 for alarms: a reader of the event log, channels that retry, their API and their commands.
    # Raised by 100 for fan-outs that a step bounds, and for runs that stay with the version they began on.
    # Raised by 3 and 220 for one group of failures over time: its statements, its types and its queries.
    # Raised by 40 for failures that a retry has made good.
    # Raised by 5 and 870 for hooks: their rules, rows and runs, the address, the API and the commands; of secrets their
    # list is read by 1 more.
    # Raised by 5 and 890 for jobs that run elsewhere: their pings, badges and calendars, with addresses and commands.
    # Raised by 1 and 250 for a command that wraps others, also while the server is unreachable.
    # Raised by 2 and 920 for alarms that code and files declare, and for shares, new errors, clocks, the database, and
    # alarms that are quiet while their cause fires.
    # Raised by 4 and 540 for revisions: what a change of a task, a group or a job set, and the way back.
    # Raised by 1 and 660 for blocks of the history on PostgreSQL, which are dropped as a whole.
    # Raised by 5 and 1,900 for webhooks: subscriptions that the server keeps, with their reader, API and commands; of
    # secrets their list is read by 2 more.
    # Raised by 19 and 2,710 for executors: the commands of launchers, the node that looks after what runs at an engine,
    # its table, the contract over HTTP, and the process there.
    # Raised by 2 and 640 for the shared folder by which code speaks that reaches no server.
    # And by 2 and 620 for Kubernetes and Ray as engines.
    # Raised by 1 and 340 for alarms on flows, on webhooks that stop and on nodes that take nothing, for messages of a
    # firing; and by 140 for messages of many webhooks that are stored together.
    # Raised by 1 and 210 for Slurm, and by 60 for its jobs that are over and come back.
    # Raised by 1 and 180 for the number of nodes that the queue wants.
    # Raised by 2 and 690 for groups of failures that are silenced, or solved in a version until one comes back.
    # Raised by 3 for the archive: its statements, its files, and the command that reads it.
    # Raised by 1 for the host of a job outside of Cronograph.
    # Raised by 1 and 570 for a standby that answers queries: its reads, its settings, and where its state is shown.
    # Raised by 1 and 150 for the place of an attempt in the queue of its engine.
    # Raised by 40 for resources of runs that are enqueued by the names of their jobs, which are judged as others are.
    "modules": 560,
    # Raised by 120 for pauses of tasks and groups that end by themselves.
    # Raised by 160 for retries, edits, renewals and failures where they meet cleanups, keys, bounds and children.
    # Raised by 180 for places of concurrency keys that runs keep until they are finished.
    # Raised by 250 for runs that take several slots of a node.
    # Raised by 40 for the page for people at the waits of a run.
    # Raised by 40 for what doctor says about blocks of the history.
    # Raised by 180 for routes of alarms, and for buttons in messages.
    # Raised by 130 for the planned load of each minute, hour or day.
    # Raised by 790 for the archive: its writer and reader, its statements, and the commands that read it.
    # Raised by 20 for launchers that are killed, and jobs of Slurm that go by their names.
    # Raised by 40 for blocks of events.
    # Raised by 130 for failures that are news, which the server counts: with marks, over a day and an hour, of tasks.
    # Raised by 320 for resources that a task and a run ask for at an engine.
    # Raised by 210 for the functions of jobs outside of Cronograph, where all calls come to nothing.
    # Raised by 50 for pages of attempts at their engines.
    # Raised by 110 for bounds of resources, and mends of what an outside trial found.
    # Raised by 4 for attempts that leave no cycle behind.
    # Raised by 190 for secrets that are judged where they are set, and for odd values that importers and exports keep.
    # Raised by 120 for pages whose rows come with the labels of their runs, with recoveries and with strips.
    # Raised by 45 for claims of several groups without a transaction.
    # Raised by 20 for what hashes passwords and reads files of tasks, which is loaded where it is used.
    # Raised by 118 for claims and ends of keyed runs without a transaction of the node, and slots that are handed over.
    # Raised by 7 for the two times that a clock shows when it is set back: they are equal, and were taken for one.
    # Raised by 71 for odd values in files of tasks, commands and crontabs, and for what must be in no message.
    # Raised by 3 for systemd timers with fractions of seconds.
    # Raised by 85 for what systemd escapes and resets, what tasks of Celery say, and values that no message may show.
    # Raised by 6 for the conditions of concurrency keys, which stand once for all statements (9 lines of SQL less).
    # Raised by 36 for claims of groups of one lane each, which take turns without counting.
    # Raised by 50 for files of tasks that nodes apply at once, paused tasks that are found by their next time, and
    # values that JSON or PostgreSQL would change: a fold, a zone, a bound, numbers and order of keys.
    # Raised by 9 for duties of a node that begin one after the other.
    # Raised by 15 for servers that are stopped as they start, and that start while PostgreSQL restarts.
    # Raised by 11 for child processes that ask the kernel in one call what they asked it in ten.
    # Raised by 136 for tasks in JSON and with units, parts of manifests, channels set at once, hidden secrets, and
    # handlers that raise.
    # Raised by 7 for the types of what stops a server that starts, and for first looks that are at once.
    # Raised by 292 for portions of bulk actions that are stored with what is known of them, gaps among events, ends
    # that other programs send, maxima of one key that differ, limits of transactions, and databases that let nobody in.
    # Raised by 29 for: Help and lists are whole in narrow terminals.
    # Raised by 87 for: a statement for one run, checks of parts of tables, and needed rows of old blocks.
    # Raised by 8 for: the module of judges by code, which only servers import, and the patience of the end.
    # Raised by 6 for: A server is ready a fifth sooner: what its imports make is not searched for garbage; the table
    # measures answers of a warm server
    # Raised by 121 for: sets of up to 10,000 tasks, labels and times of code at engines judged as those of jobs,
    # times with idempotency keys, manifests written as a whole
    # Raised by 16 for: sizes of nested lists count together
    # Raised by 16 for: sizes of nested lists count together; large arguments are judged without a step for each value
    # Raised by 14 for: lists among arguments are judged by their types
    # Raised by 206 for: job code that disturbs logging, output and sockets of its process loses no line and ends no
    # job
    # Raised by 200 for: faults of task files have lines, suggestions and our words; the importer tells scripts,
    # anacron, coroutines, several apps
    # Raised by 1 for: Types of the server's own loggers
    # Raised by 33 for: names of exceptions' classes, words of refusals
    # Raised by 12 for: any name of a SQLite file, parameters after other signs
    # Raised by 19 for: errors of attempts and steps hide the passwords of addresses
    # Raised by 11 for: results that no database stores are refused, as is what is no JSON
    # Raised by 21 for: defaults that are no JSON are refused by name
    # Raised by 4 for: nodes connect as Django does
    # Raised by 39 for: a quick judgement of nested arguments; a replica's reason without its address
    # Raised by 12 for: each of many faults in a file of tasks is found at once
    # Raised by 2 for: types of a line's fields
    # Raised by 16 for: each mend has a test
    # Raised by 86 for: each mend has a test
    # Raised by 1 for: each mend has a test
    # Raised by 69 for: each mend has a test
    # Raised by 27 for: each mend has a test
    # Raised by 7 for: each mend has a test
    # Raised by 15 for: task files: links to nothing, odd paths, devices; with tests
    # Raised by 11 for: jitter at the end of time; refusals without values; with tests
    # Raised by 1 for: times in refusals are those of the API
    # Raised by 5 for: tests and imports of time_text
    # Raised by 23 for: steps keep their order whatever the clocks say; with tests
    # Raised by 5 for: A table within a task's schedule is a fault of the file, which was read as one without tasks;
    # one sentence for a number or text
    # Raised by 3 for: A table within a task's schedule is a fault of the file, which was read as one without tasks;
    # one sentence for a number or text
    # Raised by 11 for: steps keep their order whatever the clocks say; with tests
    # Raised by 12 for: an attempt learns the database's clock
    "lines": 116_727,
    "modules under 80 lines with one importer": 7,
    # Raised by 2 and 6 for flows that bound how many of their runs run at once, and by 1 for bulk actions.
    "files of the column concurrency_key": 43,
    "files of the column rate_key": 40,
    # Raised by 3 for fan-outs that a step bounds: the context, the wait, and the flow of the runs that it waits for.
    "files of the column max_concurrent": 32,
    "files of the mutation pause_group": 6,
    "files of the mutation resume_node": 7,
    "files of the mutation cancel_runs": 10,
    "files of the list of secrets": 12,
    # Raised by 1: a group of failures says on which nodes they were.
    "files of the list of nodes": 27,
    "docstrings that begin with a relative word": 0,
    "docstrings of functions that begin with no verb": 0,
    "'what' in 1,000 words of docstrings and messages": 0.5,
}
"""The numbers that no change may raise. A feature that needs more modules or lines raises these two, and says why."""

SMALL: Final = 80
"""Lines below which a module with one importer belongs into that importer, or beside others about the same noun."""

COLUMNS: Final = ("concurrency_key", "rate_key", "max_concurrent")
"""Columns of runs whose names mean nothing else; a new one touches about the same files."""
MUTATIONS: Final = ("pause_group", "resume_node", "cancel_runs")
"""Mutations whose names mean nothing else, as Python writes them."""
LISTS: Final = ("secret", "node")
"""Nouns that GraphQL lists, of which one is plain and one has figures of its own."""

RELATIVE: Final = re.compile(r"\s*(what|those|how|whether|where|who|whose|which|why)\b", re.IGNORECASE)
"""Words with which no docstring may begin in the end: a docstring begins with a verb."""
NO_VERB: Final = re.compile(
    r"(?![A-Z][a-z])|\w*[^\Ws]s\b|(?:After|All|Among|An|Another|Any|At|Because|Before|Behind|Both|By|Due|Each|Either|"
    "Every|Everything|Few|First|For|From|Half|He|How|If|In|Into|It|Like|Many|Neither|Never|New|No|Nobody|None|Nor|Not|"
    "Nothing|Of|Off|On|Once|One|Only|Or|Our|Out|Per|Several|She|Since|So|Some|Somebody|Something|Such|Text|That|The|"
    "Their|Then|There|These|They|Those|Three|Through|To|True|Two|Under|Until|Up|Upon|We|When|While|With|Within|"
    r"Without|You|Your)\b"
)
"""Beginnings that are no verb in its base form: a word of this list, a plural or third person, a name, a number."""
PLAIN: Final = frozenset(
    {
        "staticmethod",
        "classmethod",
        "override",
        "abstractmethod",
        "cache",
        "lru_cache",
        "contextmanager",
        "asynccontextmanager",
    }
)
"""Decorators of functions that are called as they stand; docstrings below others describe fields and commands."""
_WHAT: Final = re.compile(r"\bwhat\b", re.IGNORECASE)
_WORD: Final = re.compile(r"[A-Za-z][\w'-]*")
_GENERATED: Final = "by `make schema`"
"""Stands in the first line of each module that is written by a program."""


def product() -> list[Source]:
    """Return the modules that are installed and written by hand, without the history of the tables."""
    sources = (one for one in read_sources(*PRODUCT_FOLDERS, "entry") if "migrations/" not in one.name)
    return [one for one in sources if _GENERATED not in one.text.partition("\n")[0]]


def measured() -> dict[str, float]:
    """Return each number as it is now."""
    sources = product()
    texts = {source.name: source.text for source in sources}
    texts |= {path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / "jobs").rglob("*.sql")}
    found: dict[str, float] = {
        "modules": len(sources),
        "lines": sum(source.lines for source in sources),
        f"modules under {SMALL} lines with one importer": len(small_with_one_importer(sources)),
    }
    found |= {f"files of the column {name}": len(naming(texts, name)) for name in COLUMNS}
    found |= {f"files of the mutation {name}": len(naming(texts, f"{name}|{camel(name)}")) for name in MUTATIONS}
    found |= {f"files of the list of {name}s": len(files_of_list(texts, name)) for name in LISTS}
    said = [text for source in sources for text in docstrings(source.tree)]
    found["docstrings that begin with a relative word"] = sum(RELATIVE.match(text) is not None for text in said)
    verbless = [text for source in sources for text in docstrings_of_functions(source.tree) if NO_VERB.match(text)]
    found["docstrings of functions that begin with no verb"] = len(verbless)
    said += [text for source in sources for _, text in messages_of(source)]
    found["'what' in 1,000 words of docstrings and messages"] = round(share(_WHAT, said), 1)
    return found


def small_with_one_importer(sources: list[Source]) -> list[str]:
    """Return the small modules that a single other module imports; packages themselves do not count."""
    modules = {module_of(source.name): source for source in sources}
    importers = Counter(name for source in sources for name in imported(source, modules))
    return [
        source.name
        for module, source in modules.items()
        if source.lines < SMALL and not source.name.endswith("__init__.py") and importers[module] == 1
    ]


def module_of(file: str) -> str:
    """Return the dotted name of a file."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imported(source: Source, known: Mapping[str, Source]) -> set[str]:
    """Return the modules of the product that a file imports relatively, by their dotted names."""
    package = module_of(source.name).split(".")
    if not source.name.endswith("__init__.py"):
        package.pop()
    found = set[str]()
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            parents = package[: len(package) - node.level + 1]
            base = ".".join([*parents, *(node.module or "").split(".")]).strip(".")
            inner = {f"{base}.{alias.name}" for alias in node.names} & known.keys()
            found |= inner or {base} & known.keys()
    return found


def naming(texts: Mapping[str, str], pattern: str) -> list[str]:
    """Return the files with one of these words."""
    word = re.compile(rf"\b(?:{pattern})\b")
    return [name for name, text in texts.items() if word.search(text)]


def files_of_list(texts: Mapping[str, str], noun: str) -> list[str]:
    """Return the files of the API that know a list: its field, or a type named after it."""
    found = naming(texts, rf"{noun}s|_?{noun.title()}(?:Filter|Order|Connection|Edge|Page|Row)\w*")
    return [name for name in found if name.startswith(("graphql/", "jobs/store/statements/list"))]


def camel(name: str) -> str:
    """Return a name as GraphQL writes it."""
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


def docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield the texts that document a module, a class, a function or the attribute above them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def docstrings_of_functions(tree: ast.Module) -> Iterator[str]:
    """Yield the docstrings of functions that are called as they stand, but not of jobs: those describe the jobs."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (text := ast.get_docstring(node)) is not None:
            decorators = {ast.unparse(one).partition("(")[0] for one in node.decorator_list}
            first = next((one.annotation for one in node.args.args), None)
            is_job = isinstance(first, ast.Name) and first.id == "JobContext" and not node.name.startswith("_")
            if not is_job and decorators <= PLAIN:
                yield text


def share(pattern: re.Pattern[str], texts: list[str]) -> float:
    """Return how often a pattern is found in 1,000 words."""
    words = sum(len(_WORD.findall(text)) for text in texts)
    return 1000 * sum(len(pattern.findall(text)) for text in texts) / words if words else 0.0


def table(found: Mapping[str, float]) -> str:
    """Return the numbers, each with the most that it may be."""
    rows = [f"{'now':>9} {'at most':>9}"]
    rows += [f"{number:9,g} {MOST.get(name, 0):9,g}  {name}" for name, number in found.items()]
    return "\n".join(rows)


if __name__ == "__main__":
    print(table(measured()))  # noqa: T201 - what it is started for
