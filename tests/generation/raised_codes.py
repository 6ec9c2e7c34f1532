"""Finds which error codes each mutation can give, from where they are raised, and writes them for its description.

Read are the sources, nothing is imported: from the resolver of a mutation on, every function and class that is named is
followed, and of those that make an error the code is taken. So a code may be listed that this mutation never gives, but
none is missing. `python -m tests.generation.raised_codes` writes `graphql/base/raised.py`, `make schema`
does; a test compares.
"""

import ast
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from cronograph.graphql.base.scalars import camel
from tests.support.sources import ROOT

WRITTEN: Final = ROOT / "graphql" / "base" / "raised.py"
FOLDERS: Final = (
    *("jobs/core", "jobs/accounts", "jobs/actions", "jobs/queue", "jobs/store", "jobs/builtin", "jobs/delivery"),
    *("graphql/operations", "graphql/lists"),
)
ERRORS: Final = "jobs.core.base.errors"
HANDED_ON: Final = frozenset({"INVALID_SCHEDULE", "NEVER_FIRES", "UNKNOWN_TIMEZONE"})
"""The codes of a refusal that takes its code from another error: that is always one of a schedule."""
EVERYWHERE: Final = frozenset({"UNREADABLE_ROW"})
"""The codes that the access to the database gives, which no mutation names."""
SEVERAL: Final = "SeveralFaults"
"""It has the codes of others."""
WIDTH: Final = 120

Place: TypeAlias = tuple[str, str]
"""A module and a name in it."""


@dataclass(slots=True)
class Module:
    """What is known of a module.

    Attributes:
        name: From the root on, with dots.
        defined: Its functions, classes and values.
        imported: What its names stand for that come from elsewhere; an empty name = the module itself.
    """

    name: str
    defined: dict[str, ast.AST] = field(default_factory=dict[str, ast.AST])
    imported: dict[str, Place] = field(default_factory=dict[str, Place])

    @classmethod
    def read(cls, path: Path) -> "Module":
        """The module of a file."""
        parts = path.relative_to(ROOT).with_suffix("").parts
        package = parts[:-1]
        found = cls(".".join(package if parts[-1] == "__init__" else parts))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = ".".join((*package[: len(package) - node.level + 1], *(node.module or "").split(".")))
                for one in node.names:
                    found.imported[one.asname or one.name] = (base.strip("."), one.name)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.defined[node.name] = node
            elif isinstance(node, ast.AnnAssign | ast.Assign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found.defined |= {one.id: node for one in targets if isinstance(one, ast.Name)}
        return found


class Sources:
    """The modules that a mutation may lead to."""

    def __init__(self) -> None:
        paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
        self.modules = {one.name: one for one in map(Module.read, paths)}
        self._errors = dict(self._error_classes())
        self._known: dict[ast.AST, list[tuple[Place, ast.Call | None]]] = {}

    def mutations(self) -> Iterator[tuple[str, Module, ast.AST]]:
        """The name of each mutation, and what resolves it."""
        for module in self.modules.values():
            for defined in module.defined.values():
                for method in defined.body if isinstance(defined, ast.ClassDef) else ():
                    if isinstance(method, ast.AsyncFunctionDef) and any(map(_is_mutates, method.decorator_list)):
                        yield camel(method.name), module, method

    def codes(self, module: Module, node: ast.AST) -> set[str]:
        """The codes of all errors that may be made from here on."""
        seen: set[Place] = set()
        found: set[str] = set()
        pending: list[tuple[Module, ast.AST]] = [(module, node)]
        while pending:
            place, one = pending.pop()
            for named, call in self._names(place, one):
                if call is not None:
                    found |= self._codes_of(place, named, call)
                if named not in seen and named[0] != ERRORS:
                    seen.add(named)
                    home = self.modules[named[0]]
                    pending.append((home, home.defined[named[1]]))
        return found

    def _names(self, module: Module, node: ast.AST) -> list[tuple[Place, ast.Call | None]]:
        """``_look_for_names``, once: most mutations come by the same places."""
        if node not in self._known:
            self._known[node] = list(self._look_for_names(module, node))
        return self._known[node]

    def _look_for_names(self, module: Module, node: ast.AST) -> Iterator[tuple[Place, ast.Call | None]]:
        """What is named within a piece of source and known, and the call if it is called."""
        called = {id(one.func): one for one in ast.walk(node) if isinstance(one, ast.Call)}
        for one in ast.walk(node):
            found: Place | None = None
            if isinstance(one, ast.Name):
                found = self._resolved((module.name, one.id))
            elif isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
                base = module.imported.get(one.value.id)
                found = None if base is None else self._resolved((".".join(base), one.attr))
            if found is not None:
                yield found, called.get(id(one))

    def _resolved(self, place: Place) -> Place | None:
        """Return where a name is defined, through all imports; None if it is not in these sources."""
        for _ in range(10):
            module = self.modules.get(place[0])
            if module is None:
                return None
            if place[1] in module.defined:
                return place
            if place[1] not in module.imported:
                return None
            place = module.imported[place[1]]
        return None

    def _codes_of(self, module: Module, named: Place, call: ast.Call) -> frozenset[str]:
        """The codes of an error that is made here; none if something else is."""
        if named[0] != ERRORS or named[1] not in self._errors:
            return frozenset()
        given = next((one.value for one in call.keywords if one.arg == "code"), None)
        if given is None:
            return frozenset({self._errors[named[1]]})
        code = self._constant(module, given)
        return HANDED_ON if code is None else frozenset({code})

    def _constant(self, module: Module, node: ast.AST) -> str | None:
        """The code that stands there; None: it is handed on from where it was made."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ErrorCode":
            return node.attr
        place = self._resolved((module.name, node.id)) if isinstance(node, ast.Name) else None
        if place is None:
            return None
        home = self.modules[place[0]]
        value = home.defined[place[1]]
        inner = value.value if isinstance(value, ast.AnnAssign | ast.Assign) else None
        return None if inner is None else self._constant(home, inner)

    def _error_classes(self) -> Iterator[tuple[str, str]]:
        """The refusals and their codes."""
        classes: Mapping[str, ast.AST] = self.modules[ERRORS].defined
        known: dict[str, str] = {}
        for name, one in classes.items():
            if isinstance(one, ast.ClassDef) and name != SEVERAL:
                own = next((_code_in(part) for part in one.body if _code_in(part)), None)
                inherited = next(
                    (known[base.id] for base in one.bases if isinstance(base, ast.Name) and base.id in known), None
                )
                code = own or inherited
                if code is not None:
                    known[name] = code
                    yield name, code


def _code_in(node: ast.stmt) -> str | None:
    target = (
        node.target if isinstance(node, ast.AnnAssign) else node.targets[0] if isinstance(node, ast.Assign) else None
    )
    value = node.value if isinstance(node, ast.AnnAssign | ast.Assign) else None
    if isinstance(target, ast.Name) and target.id == "code" and isinstance(value, ast.Attribute):
        return value.attr
    return None


def _is_mutates(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "mutates"


def raised() -> dict[str, tuple[str, ...]]:
    """The codes that each mutation can give, by its name."""
    sources = Sources()
    found = {name: sources.codes(module, resolver) | EVERYWHERE for name, module, resolver in sources.mutations()}
    return {name: tuple(sorted(codes)) for name, codes in sorted(found.items())}


def module_text(codes: Mapping[str, tuple[str, ...]]) -> str:
    """The source of the module that holds them."""
    lines = [
        '"""Which error codes each mutation can give; written by `make schema` from where they are raised."""',
        "",
        "from typing import Final",
        "",
        "_CODES: Final = {",
    ]
    for name, found in codes.items():
        lines += _row(name, " ".join(found))
    made = "{name: tuple(codes.split()) for name, codes in _CODES.items()}"
    return "\n".join([*lines, "}", "", f"RAISED: Final[dict[str, tuple[str, ...]]] = {made}", ""])


def _row(name: str, codes: str) -> list[str]:
    """The codes of a mutation as text, on one line if that is wide enough."""
    row = f'    "{name}": "{codes}",'
    if len(row) <= WIDTH:
        return [row]
    *lines, last = textwrap.wrap(codes, WIDTH - len('        " "'))
    return [f'    "{name}": (', *(f'        "{line} "' for line in lines), f'        "{last}"', "    ),"]


if __name__ == "__main__":
    WRITTEN.write_text(module_text(raised()), encoding="utf-8")
