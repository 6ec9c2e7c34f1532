"""The project's own Python sources, parsed: what the architecture tests measure."""

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT_FOLDERS = ("graphql", "jobs", "migrations", "server")
"""The folders that become `cronograph.<folder>`."""

NOT_OURS = frozenset({"node_modules", "__pycache__", "static"})
"""Folders of what is installed, compiled or built."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One Python file; `name` is its path from the root of the project."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed file. All trees stay: to look for garbage among them takes longer than to parse them."""
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return ast.parse(self.text, self.name)
        finally:
            if was_enabled:
                gc.freeze()
                gc.enable()

    @property
    def lines(self) -> int:
        """Return how many lines it has."""
        return self.text.count("\n")

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All that the file is made of, walked once for all who look."""
        return list(ast.walk(self.tree))

    def functions(self) -> Iterator[tuple[str, Function]]:
        """Every function and method, nested ones too, as (`file:name`, node)."""
        for node in self.nodes:
            if isinstance(node, Function):
                yield f"{self.name}:{node.name}", node

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """Every call as (dotted name of what is called, node); calls of computed values have an empty name."""
        for node in self.nodes:
            if isinstance(node, ast.Call):
                yield dotted_name(node.func), node

    def at(self, node: ast.stmt | ast.expr) -> str:
        """Return where a node stands, as editors and terminals link it."""
        return f"{self.name}:{node.lineno}"


def dotted_name(node: ast.expr) -> str:
    """`a.b.c` for a chain of attributes, `` for anything that does not start at a name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted_name(node.value)
        return f"{inner}.{node.attr}" if inner else node.attr
    return ""


def body_lines(function: Function) -> int:
    """The lines from the first statement after the docstring to the end of the function."""
    first = function.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    statements = function.body[1:] if is_docstring else function.body
    if not statements:
        return 0
    return (function.end_lineno or 0) - statements[0].lineno + 1


def read_sources(*folders: str) -> list[Source]:
    """The Python files below these folders of the project, in order."""
    return [_source(path) for path in sorted(path for folder in folders for path in _paths(ROOT / folder))]


def _paths(folder: Path) -> Iterator[Path]:
    """Without a look into what is not ours: npm's packages have more folders than all the rest."""
    for path in folder.iterdir():
        if path.name in NOT_OURS:
            continue
        if path.is_dir():
            yield from _paths(path)
        elif path.suffix == ".py":
            yield path


@cache
def _source(path: Path) -> Source:
    return Source(path.relative_to(ROOT).as_posix(), path.read_text())


def product_sources() -> list[Source]:
    """Return what is installed, plus the build backend."""
    return read_sources(*PRODUCT_FOLDERS, "web")


def sources_of_tests() -> list[Source]:
    """The tests and their support."""
    return read_sources("tests")
