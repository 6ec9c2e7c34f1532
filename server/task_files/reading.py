"""Reads files of tasks and groups: YAML or TOML, with variables of the environment."""

import os
import re
import tomllib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import yaml
from pydantic import ValidationError

from ...jobs.core.base.errors import ConfigurationError
from ...jobs.core.task_sets import WantedSet, WantedTask
from ...jobs.core.wanted_groups import WantedGroup
from .model import TaskFile

ENDINGS: Final = frozenset({".yaml", ".yml", ".toml"})
MAX_BYTES: Final = 4 * 1024 * 1024
_VARIABLE: Final = re.compile(r"\$(?:\$|\{(\w+)(?::-([^}]*))?\})")


class TaskFilesError(ConfigurationError):
    """Files of tasks cannot be used.

    Attributes:
        faults: What is wrong, one sentence each.
    """

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = list(faults)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What files want."""

    sets: list[WantedSet]
    groups: list[WantedGroup]


def read_files(path: Path, environment: Mapping[str, str] | None = None) -> Wanted:
    """The sets and groups of a file, or of all files in a folder; sets that several files name are put together.

    Args:
        path: The file or folder.
        environment: What ``${NAME}`` stands for; that of the process unless given.

    Raises:
        TaskFilesError: with everything that is wrong.
    """
    values = os.environ if environment is None else environment
    faults: list[str] = []
    sets: dict[str, dict[str, tuple[Path, WantedTask]]] = {}
    groups: dict[str, tuple[Path, WantedGroup]] = {}
    for file in _files(path):
        try:
            found = _read(file, values)
        except TaskFilesError as error:
            faults += error.faults
            continue
        for document in found:
            one = document.wanted()
            tasks = {} if one is None else sets.setdefault(one.name, {})
            for task in () if one is None else one.tasks:
                if task.name in tasks:
                    faults.append(f"{file}: tasks.{task.name}: is in {tasks[task.name][0]} already")
                tasks[task.name] = (file, task)
            for group in document.wanted_groups():
                if group.name in groups:
                    faults.append(f"{file}: groups.{group.name}: is in {groups[group.name][0]} already")
                groups[group.name] = (file, group)
    if faults:
        raise TaskFilesError(faults)
    whole = [WantedSet(name, tuple(task for _, task in tasks.values())) for name, tasks in sets.items()]
    return Wanted(whole, [group for _, group in groups.values()])


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise TaskFilesError([f"{path}: there is no such file or folder"])
    if not path.is_dir():
        return [path]
    found = sorted(one for one in path.iterdir() if one.suffix in ENDINGS and one.is_file())
    if not found:
        raise TaskFilesError([f"{path}: must hold files that end in {', '.join(sorted(ENDINGS))}, and has none"])
    return found


def _read(path: Path, environment: Mapping[str, str]) -> list[TaskFile]:
    faults: list[str] = []
    files: list[TaskFile] = []
    documents = _documents(path)
    for number, document in enumerate(documents):
        where = str(path) if len(documents) == 1 else f"{path}, document {number + 1}"
        filled = _filled(document, environment, where, (), faults)
        try:
            files.append(TaskFile.model_validate(filled))
        except ValidationError as error:
            found = cast("Sequence[Any]", error.errors(include_url=False))
            faults += (_sentence(where, fault) for fault in found if not _is_of_other_form(fault))
    if faults:
        raise TaskFilesError(faults)
    return files


def _documents(path: Path) -> list[Any]:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise TaskFilesError([f"{path}: must have at most {MAX_BYTES} bytes, got {path.stat().st_size}"])
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskFilesError([f"{path}: cannot be read: {error}"]) from None
    try:
        if path.suffix == ".toml":
            return [tomllib.loads(text)]
        return list(yaml.load_all(text, _StrictLoader)) or [None]
    except (tomllib.TOMLDecodeError, yaml.YAMLError) as error:
        kind = "TOML" if path.suffix == ".toml" else "YAML"
        raise TaskFilesError([f"{path}: is no {kind}: {' '.join(str(error).split())}"]) from None


class _StrictLoader(yaml.SafeLoader):
    """Refuses a key that is written twice: the first one would be lost."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = cast("Hashable", self.construct_object(key_node, deep=True))  # pyright: ignore[reportUnknownMemberType] - yaml has no types for it
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"'{key}' is there twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def _filled(value: Any, environment: Mapping[str, str], where: str, place: tuple[str, ...], faults: list[str]) -> Any:  # noqa: ANN401 - a document
    """The document with the values of variables in the place of ``${NAME}``."""
    if isinstance(value, dict):
        inner = cast("Mapping[str, Any]", value)
        return {key: _filled(one, environment, where, (*place, str(key)), faults) for key, one in inner.items()}
    if isinstance(value, list):
        several = cast("Sequence[Any]", value)
        return [_filled(one, environment, where, (*place, str(at)), faults) for at, one in enumerate(several)]
    if not isinstance(value, str):
        return value

    def fill(found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        if name is None:
            return "$"
        if name in environment:
            return environment[name]
        if default is None:
            faults.append(
                f"{where}: {'.'.join(place)}: variable {name} is not set; set it, or write ${{{name}:-default}}"
            )
        return default or ""

    return _VARIABLE.sub(fill, value)


def _is_of_other_form(fault: Mapping[str, Any]) -> bool:
    """A schedule is text or a table: a table that is wrong is not wrong because it is no text, nor the reverse."""
    is_table = isinstance(fault.get("input"), dict)
    return "schedule" in fault["loc"] and fault["type"] == ("string_type" if is_table else "model_type")


def _sentence(where: str, fault: Mapping[str, Any]) -> str:
    parts = [str(part) for part in fault["loc"]]
    place = ".".join(part for part in parts if part not in {"str", "ScheduleOfFile"} and "[" not in part)
    what = {"extra_forbidden": "is unknown", "missing": "is missing"}.get(fault["type"])
    if what is None:
        got = repr(fault.get("input"))
        what = f"{str(fault['msg']).removeprefix('Value error, ')}, got {got[:80]}"
    return f"{where}: {place}: {what}" if place else f"{where}: {what}"
