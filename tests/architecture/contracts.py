"""Checks the import contracts, each once as it is and once with an import that it forbids; prints the answers as JSON.

Likewise that no modules import each other in a circle, nor folders that lie beside each other, nor a folder and the
modules that lie beside it in its parent.

`python -m tests.architecture.contracts`, with `.links` on the module path as for `lint-imports`. The graph of imports
is built once: `lint-imports` would take as long for each violation as for all of the project.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from graphlib import CycleError, TopologicalSorter
from typing import Any

from grimp import ImportGraph, build_graph
from importlinter.configuration import configure
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract
from importlinter.domain.contract import Contract

from tests.support.project import PYPROJECT

VIOLATIONS = {
    "The server knows all parts": ("cronograph.jobs.core.model", "cronograph.graphql.resolving.context"),
    "Inside the engine": ("cronograph.jobs.store.statements.tasks", "cronograph.jobs.actions.tasks"),
    "Inside the API": ("cronograph.graphql.base.errors", "cronograph.graphql.resolving.context"),
    "Inside the store": ("cronograph.jobs.store.db.faults", "cronograph.jobs.store.statements.tasks"),
    "Inside accounts": ("cronograph.jobs.accounts.rules.sessions", "cronograph.jobs.accounts.statements.sessions"),
    "Only the queue and its users write": ("cronograph.graphql.resolving.loaders", "cronograph.jobs.queue.base.runs"),
    "Only the guard, the schema and the door": (
        "cronograph.graphql.operations.query",
        "cronograph.graphql.guard.limits",
    ),
    "Migrations are frozen history": ("cronograph.migrations.upgrade", "cronograph.jobs.store.schema.tables"),
    "Only the server runs migrations": ("cronograph.jobs.runtime.engine", "cronograph.migrations.upgrade"),
    "SQLAlchemy stays in": ("cronograph.jobs.accounts.rules.sessions", "sqlalchemy"),
    "APScheduler stays in": ("cronograph.jobs.actions.tasks", "apscheduler"),
    "Strawberry stays in": ("cronograph.server.service", "strawberry"),
    "The client needs neither": ("cronograph.graphql.client.records", "graphql"),
    "The extras are known": ("cronograph.server.service", "cronograph.graphql.client.records"),
    "The rules in core": ("cronograph.jobs.core.occurrences", "time"),
}
"""An import that each contract forbids, by the beginning of the contract's name."""

SETTINGS: dict[str, Any] = PYPROJECT["tool"]["importlinter"]
KINDS: dict[str, type[Contract]] = {"layers": LayersContract, "forbidden": ForbiddenContract}


def is_kept(contract: dict[str, Any], graph: ImportGraph) -> bool:
    """Return whether the imports of `graph` keep a contract of `pyproject.toml`."""
    given = {name: value for name, value in contract.items() if name not in {"name", "type"}}
    options = {name: str(value) if isinstance(value, bool) else value for name, value in given.items()}
    session = {"root_packages": SETTINGS["root_packages"], "include_external_packages": "True"}
    return KINDS[contract["type"]](contract["name"], session, options).check(deepcopy(graph), verbose=False).kept


def with_violation(contract: dict[str, Any], graph: ImportGraph) -> ImportGraph:
    """A copy of `graph` with an import that the contract forbids."""
    ((importer, imported),) = [pair for begin, pair in VIOLATIONS.items() if contract["name"].startswith(begin)]
    assert importer in graph.modules, importer
    assert imported in graph.modules or "." not in imported, imported
    broken = deepcopy(graph)
    if imported not in broken.modules:
        broken.add_module(imported, is_squashed=True)
    broken.add_import(importer=importer, imported=imported)
    return broken


def circle(imports: Mapping[str, Iterable[str]]) -> list[str]:
    """The names of one circle in who imports whom, or nothing."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return [*error.args[1]]
    return []


def ours(graph: ImportGraph) -> list[str]:
    """The modules of the product."""
    return [name for name in graph.modules if name.startswith("cronograph.")]


def circle_of_modules(graph: ImportGraph) -> list[str]:
    """Modules that import each other in a circle."""
    return circle({name: graph.find_modules_directly_imported_by(name) for name in ours(graph)})


def circle_of_folders(graph: ImportGraph) -> list[str]:
    """Folders of one folder that import each other in a circle."""
    for parent in ours(graph):
        found = circle_among(graph, folders_in(graph, parent))
        if found:
            return found
    return []


def circle_of_parents(graph: ImportGraph) -> list[str]:
    """Folders of one folder that import each other in a circle by way of the modules that lie beside them."""
    for parent in ours(graph):
        folders = folders_in(graph, parent)
        next_to_it = dict.fromkeys({parent, *graph.find_children(parent)} - {*folders.values()}, parent)
        found = circle_among(graph, folders | next_to_it)
        if found:
            return found
    return []


def folders_in(graph: ImportGraph, parent: str) -> dict[str, str]:
    """The folder of `parent` in which each module of such a folder lies."""
    return {
        module: folder
        for folder in graph.find_children(parent)
        if graph.find_children(folder)
        for module in (folder, *graph.find_descendants(folder))
    }


def circle_among(graph: ImportGraph, homes: Mapping[str, str]) -> list[str]:
    """The names of homes that import each other in a circle; a module without a home belongs to none."""
    imports: dict[str, set[str]] = {}
    for module, home in homes.items():
        imported = {homes.get(one, home) for one in graph.find_modules_directly_imported_by(module)}
        imports.setdefault(home, set()).update(imported - {home})
    return circle(imports)


CIRCLES: dict[str, tuple[Callable[[ImportGraph], list[str]], tuple[str, str]]] = {
    "modules": (circle_of_modules, ("cronograph.jobs.core.base.errors", "cronograph.jobs.core.base.times")),
    "folders": (circle_of_folders, ("cronograph.jobs.runtime.process.wire", "cronograph.jobs.runtime.attempts.worker")),
    "parents": (circle_of_parents, ("cronograph.jobs.runtime.base.service", "cronograph.jobs.runtime.lease")),
}
"""How a circle is looked for, and an import that would make one."""


def circles(graph: ImportGraph) -> dict[str, tuple[list[str], list[str]]]:
    """The circle of each kind that there is, and the one that there would be with an import too many."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for kind, (look, (importer, imported)) in CIRCLES.items():
        broken = deepcopy(graph)
        broken.add_import(importer=importer, imported=imported)
        found[kind] = (look(graph), look(broken))
    return found


def main() -> None:
    """Print for each contract whether it is kept, and whether it would be with its violation; and the circles."""
    configure()
    graph = build_graph(*SETTINGS["root_packages"], include_external_packages=True, cache_dir=None)
    contracts: list[dict[str, Any]] = SETTINGS["contracts"]
    kept = {one["name"]: (is_kept(one, graph), is_kept(one, with_violation(one, graph))) for one in contracts}
    json.dump({"contracts": kept, "circles": circles(graph)}, sys.stdout)


if __name__ == "__main__":
    main()
