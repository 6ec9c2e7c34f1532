"""Reads files of tasks and groups: YAML, TOML or JSON, with variables of the environment."""

import io
import json
import math
import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from stat import S_ISDIR
from typing import Any, Final, TypeVar, cast

import yaml
from pydantic import TypeAdapter, ValidationError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ...jobs.core.arguments.secrets import without_credentials
from ...jobs.core.base.errors import ConfigurationError
from ...jobs.core.task_sets import DefinitionKind, Named, WantedGroup, WantedSet, WantedTask
from ...jobs.delivery.rules import ChannelKind
from .model import OF_FILE, TaskFile
from .writing import BASE_8, NUMBER

MAX_VALUES: Final = 500_000
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
_NO_TEXT: Final = re.compile("[\0\ud800-\udfff]")
_NOT_TEXT: Final = "a text must have no NUL and no half of a surrogate pair"
_BASE_60: Final = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$")


class NotPlainError(yaml.MarkedYAMLError):
    """Something is good YAML and cannot be used."""

    def __init__(self, problem: str, mark: Any) -> None:  # noqa: ANN401 - two kinds of mark, which have no common one
        super().__init__(problem=problem, problem_mark=mark)


class PlainLoader(yaml.SafeLoader):
    """Refuses documents beyond the limits above while it reads, and keys written twice: one of them would be lost."""

    def __init__(self, stream: Any) -> None:  # noqa: ANN401 - as its base class
        super().__init__(stream)
        self._values = self._depth = 0
        self._sizes: dict[str, int | None] = {}

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:  # noqa: ANN401 - as its base class
        """Compose a node and count it; an alias counts as much as the nodes it stands for."""
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
            self.judge_scalar(node, plain=getattr(event, "style", "") is None)
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

    def judge_scalar(self, node: ScalarNode, *, plain: bool) -> None:
        """Accept only scalars that JSON has, too; a date and ``=`` become the text that was written."""
        text: str = node.value
        if node.tag in _AS_WRITTEN and plain:
            node.tag = _STRING
        if node.tag not in _KINDS | {_MERGE}:
            raise NotPlainError(f"{_shown(node.tag)} has no place here: write text", node.start_mark)
        if _NO_TEXT.search(text):
            raise NotPlainError(_NOT_TEXT, node.start_mark)
        if plain and node.tag == _STRING and (NUMBER.fullmatch(text) or BASE_8.fullmatch(text)):
            node.tag = f"{_TAG}float"
        if node.tag in _NUMBERS:
            base = 60 if _BASE_60.match(text) else 8 if BASE_8.fullmatch(text) else 10
            if base != 10:
                said = f"{text} is a number of base {base} to YAML: write '{text}' in quotes, or the number in base 10"
                raise NotPlainError(said, node.start_mark)
            if len(text) > MAX_DIGITS or not is_number(node):
                raise NotPlainError(f"must be a finite number, got {text[:40]}", node.start_mark)
        if node.tag == f"{_TAG}bool" and text.lower() not in yaml.SafeLoader.bool_values:
            raise NotPlainError(f"must be true or false, got {text[:40]}", node.start_mark)


def _judge_merge(value: Node) -> None:
    if value.tag == _MERGE:
        value.tag = _STRING


def is_number(node: ScalarNode) -> bool:
    """Return whether a scalar that YAML takes for a number is a finite one."""
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


ENDINGS: Final = frozenset({".yaml", ".yml", ".toml", ".json"})
MAX_BYTES: Final = 4 * 1024 * 1024
_VARIABLE: Final = re.compile(r"\$(?:\$|\{(?:(\w+)(?::-((?:[^$}]|\$(?!\{))*))?\})?)")


class TaskFilesError(ConfigurationError):
    """Files of tasks cannot be used.

    Attributes:
        faults: The faults, one sentence each.
    """

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = list(faults)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Hold the tasks and groups that files want."""

    sets: list[WantedSet]
    groups: list[WantedGroup]


def read_files(path: Path, environment: Mapping[str, str] | None = None) -> Wanted:
    """Return the sets and groups of a file, or of all files in a folder; sets that several files name are put together.

    Args:
        path: The file or folder.
        environment: The environment in which ``${NAME}`` is looked up; that of the process unless given.

    Raises:
        TaskFilesError: with everything that is wrong.
    """
    values = os.environ if environment is None else environment
    faults: list[str] = []
    found = _Merged()
    for file in _files(path):
        try:
            for document in _read(file, values):
                found.take(file, document, faults)
        except TaskFilesError as error:
            faults += error.faults
    if faults:
        raise TaskFilesError(faults)
    return found.wanted()


_N = TypeVar("_N", bound=Named)
_ByName = dict[str, Named]


@dataclass(slots=True)
class _Merged:
    """Put the documents of several files together, and remember in which file each thing is."""

    sets: dict[str, dict[str, WantedTask]] = field(default_factory=dict[str, dict[str, WantedTask]])
    definitions: dict[str, dict[DefinitionKind, _ByName]] = field(
        default_factory=dict[str, dict[DefinitionKind, _ByName]]
    )
    groups: dict[str, WantedGroup] = field(default_factory=dict[str, WantedGroup])
    files: dict[tuple[str, str, str], Path] = field(default_factory=dict[tuple[str, str, str], Path])

    def take(self, file: Path, document: TaskFile, faults: list[str]) -> None:
        """Add a document; a name that another one has already is a fault."""
        one = document.wanted()

        def add(kind: str, known: dict[str, _N], things: Iterable[_N]) -> None:
            for thing in things:
                key = ("" if one is None or kind == "groups" else one.name, kind, thing.name)
                if thing.name in known:
                    faults.append(f"{file}: {kind}.{thing.name}: is in {self.files[key]} already")
                known[thing.name], self.files[key] = thing, file

        if one is not None:
            add("tasks", self.sets.setdefault(one.name, {}), one.tasks)
            for kind, things in one.definitions.items():
                add(f"{kind.value}s", self.definitions.setdefault(one.name, {}).setdefault(kind, {}), things)
        add("groups", self.groups, document.wanted_groups())

    def wanted(self) -> Wanted:
        """Return all of it in the engine's form."""
        definitions = {
            name: {kind: [*things.values()] for kind, things in kinds.items()}
            for name, kinds in self.definitions.items()
        }
        sets = [WantedSet(name, tuple(tasks.values()), definitions.get(name, {})) for name, tasks in self.sets.items()]
        return Wanted(sets, [*self.groups.values()])


def _files(path: Path) -> list[Path]:
    try:
        if not S_ISDIR(path.stat().st_mode):
            return [path]
        found = sorted(one for one in path.iterdir() if one.suffix in ENDINGS and (one.is_file() or _is_broken(one)))
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        said = "there is no such file or folder" if is_missing else f"cannot be read: {error.strerror}"
        raise TaskFilesError([f"{path}: {said}"]) from None
    if not found:
        raise TaskFilesError([f"{path}: must hold files that end in {', '.join(sorted(ENDINGS))}, and has none"])
    return found


def _is_broken(path: Path) -> bool:
    """Return whether a link leads to nothing: its tasks would be archived as if nobody wanted them any more."""
    # An editor may lock a file by a link whose name begins with a dot.
    return path.is_symlink() and not path.exists() and not path.name.startswith(".")


def _read(path: Path, environment: Mapping[str, str]) -> list[TaskFile]:
    faults: list[str] = []
    files: list[TaskFile] = []
    documents = _documents(path)
    for number, (document, node) in enumerate(documents, start=1):
        found: list[_Fault] = []
        filled = _filled(document, environment, (), found)
        if document is None:
            where = str(path) if len(documents) == 1 else f"{path}, document {number}"
            faults.append(f"{where}: is empty; it must have set and tasks, or groups, or all three")
            continue
        try:
            files.append(TaskFile.model_validate(filled))
        except ValidationError as error:
            several = cast("Sequence[Any]", error.errors(include_url=False))
            found += (_fault(fault, document) for fault in several)
        faults += (f"{path}: {_line(node, place)}{said}" for place, said in found)
    if faults:
        raise TaskFilesError(faults)
    return files


_Place = tuple[str | int, ...]
_Fault = tuple[_Place, str]
"""A place in a document, and a sentence about what is wrong there."""


def _line(node: Node | None, place: _Place) -> str:
    """Return the line at which a place of a document begins, or else that of the nearest table around it."""
    if node is None:
        return ""
    mark = node.start_mark
    for part in place:
        if isinstance(node, MappingNode):
            inner = _by_name(node).get(part)
            if inner is not None:
                mark, node = inner[0].start_mark, inner[1]
        elif isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
            item: Node = node.value[part]
            mark, node = item.start_mark, item
    return f"line {mark.line + 1}: "


@lru_cache(maxsize=8)
def _by_name(node: MappingNode) -> Mapping[object, tuple[Node, Node]]:
    """Return the pairs of a table by their names; many faults are in tables of the same one."""
    # The last of one name holds: those of a merge key stand before the table's own.
    return {pair[0].value: pair for pair in node.value if isinstance(pair[0], ScalarNode)}


def _documents(path: Path) -> list[tuple[Any, Node | None]]:
    """Return the documents of a file, and for YAML the nodes, which have the lines of each value."""
    text = _text(path)
    if path.suffix in _READERS:
        try:
            return [(_READERS[path.suffix](text), None)]
        # Python refuses to read very long numbers by a plain ValueError.
        except (ValueError, RecursionError) as error:
            raise TaskFilesError([f"{path}: is no {path.suffix[1:].upper()}: {error}"]) from None
    try:
        return list(_of_yaml(text)) or [(None, None)]
    except NotPlainError as error:
        raise TaskFilesError([f"{path}: {_place(error.problem_mark)}: {error.problem}"]) from None
    except yaml.MarkedYAMLError as error:
        context = f" {error.context}" if error.context else ""
        raise TaskFilesError(
            [f"{path}: is no YAML: {_place(error.problem_mark)}: {error.problem or 'is wrong'}{context}"]
        ) from None
    except yaml.reader.ReaderError as error:
        place, found = _place_at(text[: error.position]), f"U+{error.character:04X}"
        raise TaskFilesError([f"{path}: is no YAML: {place}: the character {found} is not allowed"]) from None


def _of_yaml(text: str) -> Iterator[tuple[Any, Node | None]]:
    loader: Any = PlainLoader(text)
    while loader.check_node():
        node = loader.get_node()
        yield loader.construct_document(node), node


def _json(text: str) -> Any:  # noqa: ANN401 - a document
    """Return a document of JSON: YAML, which has JSON within it, takes 1e400 and NaN for text."""
    return json.loads(text, parse_constant=_no_json, object_pairs_hook=_once)


def _no_json(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"{next(key for key in counts if counts[key] > 1)!r} is there twice")
    return table


_READERS: Final[Mapping[str, Callable[[str], Any]]] = {".toml": tomllib.loads, ".json": _json}


def _text(path: Path) -> str:
    try:
        # A device or a pipe has no size, and may have no end.
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise TaskFilesError([f"{path}: cannot be read: {error.strerror}"]) from None
    if len(content) > MAX_BYTES:
        raise TaskFilesError([f"{path}: must have at most {MAX_BYTES} bytes, got more"])
    try:
        # Editors of Windows begin with a mark; line ends become those of Python, as in any text file.
        return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig").read()
    except UnicodeDecodeError as error:
        place = _place_at(content[: error.start].decode("utf-8-sig", errors="replace"))
        found = f"byte 0x{content[error.start]:02X}"
        raise TaskFilesError(
            [f"{path}: cannot be read: {place}: must be UTF-8, got {found}; save it as UTF-8"]
        ) from None


def _place(mark: yaml.Mark | None) -> str:
    return "somewhere" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"


def _place_at(before: str) -> str:
    return f"line {before.count(chr(10)) + 1}, column {len(before) - (before.rfind(chr(10)) + 1) + 1}"


def _dotted(place: _Place) -> str:
    return ".".join(map(str, place))


def _filled(value: Any, environment: Mapping[str, str], place: _Place, faults: list[_Fault]) -> Any:  # noqa: ANN401 - a document
    """Return the document with the values of variables in the place of ``${NAME}``."""
    if len(place) > MAX_DEPTH:
        faults.append((place[:1], f"{place[0]}: must be nested at most {MAX_DEPTH} deep"))
        return None
    if isinstance(value, dict):
        inner = cast("Mapping[str, Any]", value)
        return {key: _filled(one, environment, (*place, str(key)), faults) for key, one in inner.items()}
    if isinstance(value, list):
        several = cast("Sequence[Any]", value)
        return [_filled(one, environment, (*place, at), faults) for at, one in enumerate(several)]
    if isinstance(value, date | time):
        # TOML has times of its own; JSON has text.
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        faults.append((place, f"{_dotted(place)}: must be a finite number, got {value}"))
    if not isinstance(value, str):
        return value

    def fill(found: re.Match[str]) -> str:
        text, fault = _stands_for(found, environment)
        if fault:
            faults.append((place, f"{_dotted(place)}: {fault}"))
        return text

    text = _VARIABLE.sub(fill, value)
    if _NO_TEXT.search(text):
        faults.append((place, f"{_dotted(place)}: {_NOT_TEXT}"))
    return text


def _stands_for(found: re.Match[str], environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the text that ``${NAME}``, ``${NAME:-text}`` or ``$$`` stands for, and the fault in it."""
    name, default = found[1], found[2]
    if name is None:
        return "$", "must be ${NAME} or ${NAME:-text}; write $${ for a mere ${" if found[0] == "${" else ""
    if name in environment:
        return environment[name], ""
    return (
        default or "",
        "" if default is not None else f"variable {name} is not set; set it, or write ${{{name}:-default}}",
    )


_TIME: Final = "must be a time with a zone, e.g. 2030-01-31T09:00:00Z"
_WORDS: Final = {
    "string_type": "must be text", "list_type": "must be a list", "missing": "is missing",
    "dict_type": "must be a table", "model_type": "must be a table", "model_attributes_type": "must be a table",
    "int_type": "must be a whole number", "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number", "int_parsing_size": "must be a whole number",
    "float_type": "must be a number", "float_parsing": "must be a number", "finite_number": "must be a finite number",
    "bool_type": "must be true or false", "bool_parsing": "must be true or false",
    "literal_error": "must be {expected}", "greater_than_equal": "must be at least {ge:g}",
    "timezone_aware": _TIME, "datetime_type": _TIME, "datetime_parsing": _TIME, "datetime_from_date_parsing": _TIME,
}  # fmt: skip
"""Our words for the kinds of faults that pydantic knows."""


def _fault(fault: Mapping[str, Any], written: object) -> _Fault:
    place: _Place = tuple(fault["loc"])
    kind = str(fault["type"])
    said = str(fault["msg"]).removeprefix("Value error, ")
    what = _WORDS[kind].format_map(fault.get("ctx", {})) if kind in _WORDS else said
    if kind.startswith("union_tag"):
        place = (*place, "kind")
        what = f"must be one of {', '.join(ChannelKind)}"
        what += f", got {_got(place, written) if kind == 'union_tag_invalid' else 'nothing'}"
    elif kind == "extra_forbidden":
        near = get_close_matches(str(place[-1]), _names(place[:-1]), 1)
        what = f"is unknown; did you mean '{near[0]}'?" if near else "is unknown"
    elif kind != "missing" and ", got " not in what:
        what += f", got {_got(place, written)}"
        what += "; write it in quotes" if kind == "string_type" and type(fault["input"]) in (bool, int, float) else ""
    return place, f"{_dotted(place)}: {what}" if place else what


@cache
def _schema() -> Mapping[str, Any]:
    return TaskFile.model_json_schema()


def _names(place: _Place) -> list[str]:
    """Return the names that the table at a place of a file may have."""
    schema = _schema()
    tables = [schema]
    for part in place:
        tables = [inner for table in tables for inner in _inner(schema, table, part)] or tables
    return [name for table in tables for name in table.get("properties", {})]


def _inner(schema: Mapping[str, Any], table: Mapping[str, Any], part: str | int) -> Iterator[Mapping[str, Any]]:
    """Yield the schemas of one part of a table."""
    found: Any = table.get("properties", {}).get(part, table.get("additionalProperties"))
    if not isinstance(found, dict):
        return
    for one in cast("Any", found).get("anyOf", cast("Any", found).get("oneOf", [found])):
        yield schema["$defs"][one["$ref"].rpartition("/")[2]] if "$ref" in one else one


def _got(place: _Place, written: Any) -> str:  # noqa: ANN401 - a document
    """Show a place of a document as it was written: the values of variables, lists and tables may be secrets."""
    for part in place:
        is_there = part in written if isinstance(written, dict) else isinstance(part, int)
        if is_there and isinstance(written, dict | list):
            written = cast("Any", written)[part]
    kind = "a table" if isinstance(written, dict) else "a list" if isinstance(written, list) else None
    return kind or without_credentials(repr(cast("object", written)))[:80]


_LISTS: Final = frozenset({"channels", "recipients", "secrets"})
_TABLES: Final = frozenset({"route", "variables"})


def wanted(kind: DefinitionKind, name: str, fields: Mapping[str, str]) -> Named:
    """Return the part of a definition that fields, as people write them, set; lists are ``a,b``, and tables are JSON.

    Raises:
        ConfigurationError: a file must not have them.
    """
    values: dict[str, Any] = {}
    for one, text in fields.items():
        try:
            values[one] = json.loads(text) if one in _TABLES else text.split(",") if one in _LISTS else text
        except ValueError as error:
            raise ConfigurationError(f"{one}: must be JSON, got {text[:80]!r}: {error}") from None
    try:
        found: Named = TypeAdapter[Any](OF_FILE[kind]).validate_python(values).wanted(name)
    except ValidationError as error:
        faults: Sequence[Any] = error.errors(include_url=False)
        said = [f"{kind.value} {name}: {_fault(one, values)[1]}" for one in faults]
        raise ConfigurationError("; ".join(said)) from None
    return found
