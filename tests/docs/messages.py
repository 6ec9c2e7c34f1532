"""What people read besides the pages: errors, log lines, help of commands, descriptions of the API, the dashboard."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from graphql.type import is_enum_type, is_input_object_type, is_interface_type, is_object_type

from graphql import GraphQLSchema
from tests.generation.cli_answers import committed_schema
from tests.support.sources import PRODUCT_FOLDERS, ROOT, Source, read_sources

FEWEST: Final = 3
"""Words of a text that is a message; fewer are names, keys and labels."""
NO_MESSAGE: Final = re.compile(
    r"\b(SELECT|INSERT INTO|UPDATE \w+|DELETE FROM|GRANT|FROM|WHERE|RETURNING) |^\s*(query|mutation|\{)"
)
"""What statements and documents have."""
_TAG: Final = re.compile(r"<[^<>]+>")
NO_MESSAGES: Final = {"jobs/runtime/node.py"}
"""Modules with words that nodes are named by."""
_COMMENT: Final = re.compile(r"/\*.*?\*/|(?<![:\"'`])//[^\n]*", re.DOTALL)
_LITERAL: Final = re.compile(r'"((?:[^"\\\n]|\\.)+)"' + r"|'((?:[^'\\\n]|\\.)+)'" + r"|`((?:[^`\\]|\\.)+)`")
_BETWEEN_TAGS: Final = re.compile(r">([^<>{}=;]+)<")
_HOLE: Final = re.compile(r"\$\{[^}]*\}")


def is_message(text: str) -> bool:
    """Return whether a text is read by people: some words, and no statement."""
    words = re.findall(r"[A-Za-z]{2,}", text)
    return len(words) >= FEWEST and " " in text.strip() and NO_MESSAGE.search(text) is None


def in_python() -> Iterator[tuple[str, str]]:
    """Errors, log lines, help and other texts: the place, and the text; what is filled in is one word."""
    for source in read_sources(*PRODUCT_FOLDERS):
        yield from messages_of(source)


def messages_of(source: Source) -> Iterator[tuple[str, str]]:
    """Yield the messages of a module, each with its place."""
    if "versions" in source.name or source.name in NO_MESSAGES:
        return
    no_message = _docstrings(source.tree)
    for node in source.nodes:
        if isinstance(node, ast.JoinedStr):
            no_message |= {id(part) for part in ast.walk(node) if part is not node}
        if id(node) in no_message or not isinstance(node, ast.Constant | ast.JoinedStr):
            continue
        text = _text_of(node)
        if is_message(text := _TAG.sub("\n\n", text)):
            yield f"{source.name}:{node.lineno}", text


def in_the_schema() -> Iterator[tuple[str, str]]:
    """The descriptions of the API: type, field or argument, and the text."""
    yield from ((where, text) for where, text in _described(committed_schema()) if text)


def in_the_dashboard() -> Iterator[tuple[str, str]]:
    """Texts of the pages: the file, and the text; what is filled in is one word."""
    for path in sorted((ROOT / "web" / "src").rglob("*.ts*")):
        if ".test." in path.name or "graphql" in path.parts[-2:]:
            continue
        code = _COMMENT.sub("", path.read_text(encoding="utf-8"))
        found = [next(filter(None, groups)) for groups in _LITERAL.findall(code)]
        found += _BETWEEN_TAGS.findall(_LITERAL.sub('""', code))
        for text in found:
            plain = " ".join(_HOLE.sub("it", text).split())
            if is_message(plain):
                yield path.relative_to(ROOT).as_posix(), plain


def _docstrings(tree: ast.AST) -> set[int]:
    """Texts that are statements of their own: docstrings of modules, classes, functions and attributes."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def _text_of(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "it" for part in node.values)


def _described(schema: GraphQLSchema) -> Iterator[tuple[str, str | None]]:
    for name, kind in schema.type_map.items():
        yield name, kind.description
        if is_enum_type(kind):
            yield from ((f"{name}.{value}", one.description) for value, one in kind.values.items())
        elif is_object_type(kind) or is_interface_type(kind):
            for field, said in kind.fields.items():
                yield f"{name}.{field}", said.description
                yield from ((f"{name}.{field}({given}:)", one.description) for given, one in said.args.items())
        elif is_input_object_type(kind):
            yield from ((f"{name}.{field}", one.description) for field, one in kind.fields.items())
