"""YAML as far as JSON goes; what has no place in JSON, or is not what it seems to be, is named with line and column."""

import math
import re
from typing import Any, Final, cast

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

MAX_VALUES: Final = 100_000
"""Of a file, each alias counted as what it stands for: ten lines can stand for thousands of millions."""
MAX_DEPTH: Final = 40
MAX_DIGITS: Final = 300
_TAG: Final = "tag:yaml.org,2002:"
_KINDS: Final = {f"{_TAG}{kind}" for kind in ("null", "bool", "int", "float", "str", "seq", "map")}
_STRING: Final = f"{_TAG}str"
_MERGE: Final = f"{_TAG}merge"
_NUMBERS: Final = {f"{_TAG}int", f"{_TAG}float"}
_AS_WRITTEN: Final = {f"{_TAG}timestamp", f"{_TAG}value"}
"""Kinds that YAML sees in plain text: a date is the text that was written."""
_BASE_60: Final = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$")
_BASE_8: Final = re.compile(r"[-+]?0[0-9_]+$")


class NotPlainError(yaml.MarkedYAMLError):
    """Something is good YAML and cannot be used."""

    def __init__(self, problem: str, mark: Any) -> None:  # noqa: ANN401 - two kinds of mark, which have no common one
        super().__init__(problem=problem, problem_mark=mark)


class PlainLoader(yaml.SafeLoader):
    """Refuses what the module is about while it reads; keys that are written twice, too: one of them would be lost."""

    def __init__(self, stream: Any) -> None:  # noqa: ANN401 - as its base class
        super().__init__(stream)
        self._values = self._depth = 0
        self._sizes: dict[str, int | None] = {}

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:  # noqa: ANN401 - as its base class
        """Compose a node and count it; an alias counts as much as what it stands for."""
        event: Any = cast("Any", self).peek_event()
        anchor: str | None = event.anchor
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise NotPlainError(f"must be nested at most {MAX_DEPTH} deep", event.start_mark)
        before = self._values
        if isinstance(event, yaml.AliasEvent):
            size = self._sizes.get(str(anchor), 0)
            if size is None:
                raise NotPlainError(f"the alias '*{anchor}' stands within what it stands for", event.start_mark)
            self._values += size
        elif anchor is not None:
            self._sizes[anchor] = None
        self._values += 1
        if self._values > MAX_VALUES:
            raise NotPlainError(f"must have at most {MAX_VALUES:,} values, aliases counted", event.start_mark)
        node = super().compose_node(parent, index)
        if anchor is not None and not isinstance(event, yaml.AliasEvent):
            self._sizes[anchor] = self._values - before
        self._depth -= 1
        if isinstance(node, ScalarNode):
            _judge_scalar(node, plain=getattr(event, "style", "") is None)
        elif node is not None and node.tag not in _KINDS:
            raise NotPlainError(f"{_shown(node.tag)} has no place here: write a list or a table", node.start_mark)
        return node

    def compose_mapping_node(self, anchor: Any) -> MappingNode:  # noqa: ANN401 - as its base class
        """Compose a table whose keys are different texts."""
        node = super().compose_mapping_node(anchor)
        seen = set[str]()
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                raise NotPlainError("a key must be text", key.start_mark)
            if key.tag not in {_STRING, _MERGE}:
                raise NotPlainError(
                    f"a key must be text, got {key.value}: write '{key.value}' in quotes", key.start_mark
                )
            if key.value in seen:
                raise NotPlainError(f"'{key.value}' is there twice", key.start_mark)
            seen.add(key.value)
            _judge_merge(value)
        return node

    def compose_sequence_node(self, anchor: Any) -> SequenceNode:  # noqa: ANN401 - as its base class
        """Compose a list."""
        node = super().compose_sequence_node(anchor)
        for value in node.value:
            _judge_merge(value)
        return node


def _judge_merge(value: Node) -> None:
    if value.tag == _MERGE:
        value.tag = _STRING


def _judge_scalar(node: ScalarNode, *, plain: bool) -> None:
    """Let pass what JSON has, too; a date and ``=`` become the text that was written."""
    text: str = node.value
    if node.tag in _AS_WRITTEN and plain:
        node.tag = _STRING
    if node.tag not in _KINDS | {_MERGE}:
        raise NotPlainError(f"{_shown(node.tag)} has no place here: write text", node.start_mark)
    if any(one == "\0" or "\ud800" <= one <= "\udfff" for one in text):
        raise NotPlainError("a text must have no NUL and no half of a surrogate pair", node.start_mark)
    if node.tag in _NUMBERS:
        base = 60 if _BASE_60.match(text) else 8 if _BASE_8.match(text) else 10
        if base != 10:
            said = f"{text} is a number of base {base} to YAML: write '{text}' in quotes, or the number in base 10"
            raise NotPlainError(said, node.start_mark)
        if len(text) > MAX_DIGITS or not _is_number(node):
            raise NotPlainError(f"must be a finite number, got {text[:40]}", node.start_mark)
    if node.tag == f"{_TAG}bool" and text.lower() not in yaml.SafeLoader.bool_values:
        raise NotPlainError(f"must be true or false, got {text[:40]}", node.start_mark)


def _is_number(node: ScalarNode) -> bool:
    reading = yaml.SafeLoader("")
    try:
        if node.tag == f"{_TAG}int":
            reading.construct_yaml_int(node)
            return True
        return math.isfinite(reading.construct_yaml_float(node))
    except (ValueError, IndexError, OverflowError):
        return False


def _shown(tag: str) -> str:
    return f"!!{tag.removeprefix(_TAG)}" if tag.startswith(_TAG) else tag
