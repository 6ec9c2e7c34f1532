"""Writes tasks and limits of groups in the form that ``reading`` reads: an export that is applied changes nothing."""

import re
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any, Final, cast

import yaml

UNSET_NAME: Final = "tasks"
"""The set of tasks that are of none, unless another name is given."""
_SYNTAXES: Final = {"CRON": "cron", "CALENDAR": "calendar", "INTERVAL": "interval", "TIMESTAMP": "at"}
_ENUMS: Final = frozenset({"priority", "overlap", "misfire"})


def files_of(
    tasks: Sequence[Mapping[str, Any]],
    unset_name: str = UNSET_NAME,
    groups: Sequence[Mapping[str, Any]] = (),
    definitions: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> str:
    """Return the tasks as YAML, a document for each set, and before them one with the limits of groups.

    Args:
        tasks: As the API shows them; those of code are left out.
        unset_name: The set of those that are of none.
        groups: As the API shows them; those without limits are left out.
        definitions: Alarms, channels, webhooks and hooks by the words for their kinds; those of code are left out.
    """
    sets: dict[str, dict[str, Any]] = {}
    for task in sorted(tasks, key=lambda one: str(one["name"])):
        if task["source"] != "CODE":
            sets.setdefault(task["setName"] or unset_name, {})[task["name"]] = _written(task["definition"])
    of_sets: dict[str, dict[str, dict[str, Any]]] = {}
    for kind, things in (definitions or {}).items():
        for one in sorted(things, key=lambda one: str(one["name"])):
            if one.get("source") != "CODE":
                named = of_sets.setdefault(set_of(one) or unset_name, {}).setdefault(kind, {})
                named[one["name"]] = escaped(one["definition"])
    documents: list[dict[str, Any]] = [
        {"set": escaped(name), "tasks": sets.get(name, {})} | of_sets.get(name, {})
        for name in sorted(sets.keys() | of_sets.keys())
    ]
    limited = {str(one["name"]): limits for one in groups if (limits := _limits(one))}
    if limited:
        documents.insert(0, {"groups": dict(sorted(limited.items()))})
    several = len(documents) > 1
    return written(documents, several=several)


def written(documents: Sequence[Mapping[str, Any]], *, several: bool = False) -> str:
    """Return documents as YAML that is read as they are."""
    into = StringIO()
    dumper: Any = _Dumper(into, sort_keys=False, allow_unicode=True, width=120, explicit_start=several)
    dumper.open()
    for document in documents:
        dumper.represent(document)
    dumper.close()
    return into.getvalue()


class _Dumper(yaml.SafeDumper):
    """Writes characters that YAML takes for ends of lines with escapes: as they are, they would be read as blanks."""


def _text(dumper: Any, value: str) -> Any:  # noqa: ANN401 - of the library, which has no types
    style = '"' if _LINE_ENDS.search(value) or NUMBER.fullmatch(value) or BASE_8.fullmatch(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


NUMBER: Final = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")
"""A number to JSON, to which PyYAML is no number without a point and a sign."""
BASE_8: Final = re.compile(r"[-+]?0[oO]?[0-9_]+")
"""A number of base 8 to one version of YAML, and to the other text or a number of base 10."""
_LINE_ENDS: Final = re.compile("[\x85\u2028\u2029]")
_Dumper.add_representer(str, _text)


def set_of(definition: Mapping[str, Any]) -> str | None:
    """Return the set of an alarm, a channel, a webhook or a hook, as the API shows it."""
    found: str | None = definition["owner"] if "owner" in definition else definition["setName"]
    return found


def has_limits(group: Mapping[str, Any]) -> bool:
    """Return whether a group, as the API shows it, has any limit that a file can say."""
    return bool(_limits(group))


def _limits(group: Mapping[str, Any]) -> dict[str, Any]:
    cap = group["cap"]
    limits: dict[str, Any] = {
        "max_running": group["maxRunning"],
        "rate": group["rate"],
        "cap": None if cap is None else {"limit": cap["limit"], "when_full": cap["whenFull"].lower()},
        "max_wait_low": group["maxWaitLow"],
        "keep": group["keep"],
    }
    return {name: value for name, value in limits.items() if value is not None}


def _written(definition: Mapping[str, Any]) -> dict[str, Any]:
    written: dict[str, Any] = {}
    for name, value in definition.items():
        if name == "schedule":
            written[name] = _schedule(value)
        else:
            shown = value.lower() if name in _ENUMS and value is not None else value
            written["job" if name == "jobName" else _key(name)] = escaped(shown)
    return written


def _key(name: str) -> str:
    """Return the word of a file for a field of the API."""
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)


def _schedule(schedule: Mapping[str, Any]) -> Any:  # noqa: ANN401 - text or a table
    value = escaped(schedule["value"])
    if schedule["syntax"] == "CRON" and schedule["timezone"] == "UTC":
        return value
    zone = {} if schedule["timezone"] == "UTC" else {"timezone": schedule["timezone"]}
    return {_SYNTAXES[schedule["syntax"]]: value, **zone}


def escaped(value: Any) -> Any:  # noqa: ANN401 - a document
    """Return a document in which no text is taken for one with variables."""
    if isinstance(value, dict):
        inner = cast("Mapping[str, Any]", value)
        return {key: escaped(one) for key, one in inner.items()}
    if isinstance(value, list):
        return [escaped(one) for one in cast("Sequence[Any]", value)]
    return value.replace("$", "$$") if isinstance(value, str) else value
