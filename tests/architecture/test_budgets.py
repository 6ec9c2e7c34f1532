"""Sizes and habits that keep the code readable; every exception is named here with its reason."""

import ast
import re
import sys
from collections import Counter

import pytest

from tests.support.sources import Source, body_lines, dotted_name, product_sources, sources_of_tests

pytestmark = pytest.mark.timeout(180)  # each reads all sources: four seconds of a processor

MODULE_LIMIT = 600
"""Lines that no module may exceed."""

FUNCTION_LIMIT, TYPICAL_FUNCTION = 50, 25
"""Body lines of a function: the most, and what nine of ten functions stay within."""

FOLDER_LIMIT = 18
"""Modules that a folder may hold, its `__init__` and the folders in it not counted."""

LONG_MODULES: dict[str, str] = {
    "graphql/client/records.py": "made by `make schema`: a class for each type of the API",
    "migrations/versions/0001_initial.py": "frozen history: every table of the first schema, a line per column",
}
"""Modules above the limit, each with the reason."""

LONG_FUNCTIONS: dict[str, str] = {}
"""Functions above the limit as `file:name`, each with the reason."""

LOCAL_IMPORTS: dict[str, str] = {}
"""Functions that import something, as `file:name`, each with the reason."""

SLEEPERS = {
    "tests/support/waiting.py": "the one waiting helper",
    "tests/chaos/joint_jobs.py": "jobs that act for a while",
    "tests/runtime/sample_jobs.py": "jobs that take their time",
    "tests/runtime/process_jobs.py": "jobs that take their time",
    "tests/bench/bench_costly.py": "asks again after a refusal as from a network, not at once",
    "tests/bench/bench_drain.py": "enqueues at a pace of its own",
    "tests/bench/drain_jobs.py": "jobs that take their time",
    "tests/bench/bench_kills.py": "ends connections and enqueues at an even pace",
    "tests/bench/bench_webhooks.py": "records events at an even pace",
    "tests/bench/bench_logs.py": "enqueues at an even pace",
    "tests/bench/bench_reading.py": "writes at an even pace beside the pruning",
    "tests/chaos/flow_jobs.py": "jobs that take their time",
    "tests/bench/bench_signin.py": "guesses and reads at an even pace",
    "tests/bench/bench_engine.py": "measures what happens, or does not happen, while time passes",
    "tests/bench/bench_serve.py": "measures what an idle server costs while time passes",
    "tests/bench/bench_steps.py": "measures what an idle node costs while time passes",
    "tests/bench/peers/tally.py": "looks at what other processes have done, without this project's helpers",
    "tests/bench/harness/adapter.py": "enqueues and reports at an even pace, without this project's helpers",
    "tests/runtime/witness_jobs.py": "jobs that take their time",
    "tests/chaos/long_jobs.py": "jobs that take their time",
    "tests/chaos/engine_jobs.py": "its jobs act for a while",
    "tests/chaos/poisonous_jobs.py": "jobs that block, or that do not end when they are asked to",
    "tests/runtime/branch_jobs.py": "its jobs do something between two steps",
    "tests/bench/bench_remote.py": "what costs nothing but time is measured by waiting",
    "tests/bench/peers/kinds.py": "waits for a Redis that says nothing when it listens",
    "tests/bench/peers/kinds_cronograph.py": "looks for what other processes have done",
    "tests/bench/peers/kinds_work.py": "its jobs wait, and other processes do them",
}
"""Test files that may sleep, each with the reason."""

PATCHERS: dict[str, str] = {
    "tests/at_home/test_litestar.py": "the page declares jobs in the registry of the process: it gets its own",
    "tests/runtime/process/test_kernel.py": "a kernel that tells nothing: this machine's tells it under another path",
    "tests/runtime/process/test_last_words.py": "a node that listens late: it gives last words no time at all",
    "tests/runtime/attempts/test_lost_answers.py": "a pause between looks by time is an hour: nothing missed is found",
}
"""Test files that may replace attributes by `monkeypatch`, each with the reason."""

EMPTY_CONTAINERS = {"dict", "list", "set", "defaultdict", "OrderedDict", "deque", "WeakValueDictionary", "Counter"}
UNFINISHED = re.compile(r"#.*\b(TODO|FIXME|XXX|HACK)\b")

PRODUCT = product_sources()
TESTS = sources_of_tests()
EVERYTHING = [*PRODUCT, *TESTS]


def test_no_module_is_too_long() -> None:
    too_long = {source.name: source.lines for source in EVERYTHING if source.lines > MODULE_LIMIT}
    assert {name: lines for name, lines in too_long.items() if name not in LONG_MODULES} == {}


def test_no_folder_holds_too_many_modules() -> None:
    folders = Counter(source.name.rpartition("/")[0] for source in PRODUCT if not source.name.endswith("__init__.py"))
    assert {folder: count for folder, count in folders.items() if count > FOLDER_LIMIT} == {}


def test_no_function_is_too_long() -> None:
    lengths = {name: body_lines(node) for source in EVERYTHING for name, node in source.functions()}
    assert {name: n for name, n in lengths.items() if n > FUNCTION_LIMIT and name not in LONG_FUNCTIONS} == {}


def test_nine_of_ten_functions_are_short() -> None:
    lengths = sorted((body_lines(node), name) for source in PRODUCT for name, node in source.functions())
    longest_typical, name = lengths[int(len(lengths) * 0.9)]
    assert longest_typical <= TYPICAL_FUNCTION, f"the 90th percentile is {longest_typical} lines ({name})"


def test_nothing_is_imported_inside_functions() -> None:
    found = {
        f"{name} imports at line {inner.lineno}"
        for source in EVERYTHING
        for name, function in source.functions()
        for inner in ast.walk(function)
        if isinstance(inner, ast.Import | ast.ImportFrom) and name not in LOCAL_IMPORTS
    }
    assert found == set()


def test_no_module_hides_a_mutable_registry() -> None:
    assert [place for source in PRODUCT for place in empty_containers(source)] == []


def test_nothing_is_left_unfinished() -> None:
    marked = [
        f"{source.name}:{number}"
        for source in PRODUCT
        for number, line in enumerate(source.text.splitlines(), 1)
        if UNFINISHED.search(line)
    ]
    stubs = [source.at(node) for source in PRODUCT for name, node in source.calls() if name == "NotImplementedError"]
    assert marked + stubs == []


def test_only_the_waiting_helper_sleeps() -> None:
    sleeping = [
        source.at(node)
        for source in TESTS
        for name, node in source.calls()
        if name.split(".")[-1] in {"sleep", "wait_for_timeout"}
        and not yields(node)
        and source.name not in SLEEPERS
        # A run that sleeps takes no time of the test.
        and name != "ctx.sleep"
    ]
    assert sleeping == []


def test_no_code_of_ours_is_mocked() -> None:
    mocking = [source.name for source in TESTS if imported_roots(source) & {"mock", "pytest_mock", "unittest.mock"}]
    patching = [
        source.at(node)
        for source in TESTS
        for name, node in source.calls()
        if name in {"monkeypatch.setattr", "monkeypatch.setitem", "mocker.patch"}
        and not patches_the_interpreter(node)
        and source.name not in PATCHERS
    ]
    assert mocking + patching == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("HANDLERS = {}", 1),
        ("HANDLERS: dict[str, int] = dict()", 1),
        ("TABLE = {'a': 1}", 0),
        ("def f():\n    seen = []", 0),
    ],
)
def test_the_search_for_registries_sees_what_it_must(code: str, found: int) -> None:
    assert len(empty_containers(Source("sample.py", code))) == found


def test_the_body_of_a_function_is_counted_without_its_docstring() -> None:
    source = Source("sample.py", 'def f():\n    """Two\n    lines."""\n    a = 1\n\n    return a\n')
    assert [body_lines(node) for _, node in source.functions()] == [3]


def yields(call: ast.Call) -> bool:
    """Return whether this is `sleep(0)`: it lets other coroutines run and waits for nothing."""
    return bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0


def patches_the_interpreter(call: ast.Call) -> bool:
    """Return whether what is replaced belongs to the standard library, such as `sys.path`: that is no code of ours."""
    return bool(call.args) and dotted_name(call.args[0]).split(".")[0] in sys.stdlib_module_names


def empty_containers(source: Source) -> list[str]:
    """Module-level names that start as an empty container: something will fill them behind the tests' backs."""
    assigned = [node for node in source.tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    return [source.at(node) for node in assigned if node.value is not None and is_empty_container(node.value)]


def is_empty_container(value: ast.expr) -> bool:
    """`[]`, `{}`, `set()`, `defaultdict(list)` and the like."""
    if isinstance(value, ast.List):
        return not value.elts
    if isinstance(value, ast.Dict):
        return not value.keys
    if isinstance(value, ast.Call):
        name = dotted_name(value.func).split(".")[-1]
        return name in EMPTY_CONTAINERS and (not value.args or name == "defaultdict")
    return False


def imported_roots(source: Source) -> set[str]:
    """The modules that a file imports, in full, and the first part of each."""
    names: set[str] = set()
    for node in source.nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names | {name.split(".")[0] for name in names}
