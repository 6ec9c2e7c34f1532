"""``cronograph plan``, ``apply`` and ``export``: tasks and limits of groups as files."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, cast

import typer

from ....graphql.client import OperationError
from ....graphql.client.command_line import (
    APPLY_TASKS,
    EXPORTED_ALARMS,
    EXPORTED_CHANNELS,
    EXPORTED_GROUPS,
    EXPORTED_HOOKS,
    EXPORTED_TASKS,
    EXPORTED_WEBHOOKS,
)
from ....jobs.core.admission.caps import Rate
from ....jobs.core.base.errors import ConfigurationError
from ....jobs.core.base.times import counted
from ....jobs.core.task_sets import WantedGroup, WantedSet, shown
from ...process.ending import ExitCode
from ...task_files.reading import read_files
from ...task_files.writing import UNSET_NAME, files_of, has_limits, set_of
from ..base.output import Refused
from .alarms import input_of
from .api import Api, at_server, changes_server
from .values import camel

Files = Annotated[Path, typer.Argument(help="A YAML or TOML file of tasks, or a folder of them.")]
Prune = Annotated[
    bool,
    typer.Option(
        "--prune", help="Archive what is of these sets and the files do not name: tasks, alarms and the rest."
    ),
]
AllowDelete = Annotated[
    int,
    typer.Option("--allow-delete", min=0, metavar="N", help="Let N tasks go although they are most of their set."),
]


@at_server
def plan(
    api: Api,
    path: Files,
    prune: Prune = False,
    allow_delete: AllowDelete = 0,
    out: Annotated[
        Path | None, typer.Option("--out", help="Keep the plan in this .json file; `apply FILE` does just that.")
    ] = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit status 6 when something differs.")
    ] = False,
) -> None:
    """Show the changes that `apply` would make to tasks, limits of groups, channels, hooks and alarms; change nothing.

    The exit status is 0, with --detailed-exitcode 6 when something differs; 1 when the server refuses the tasks.
    """
    request = request_of(path, prune=prune, allow_delete=allow_delete)
    answer = api.change(APPLY_TASKS, **request.input(dry_run=True))
    if out is not None:
        keep(out, request, answer)
    changed = differs(answer)
    api.result({"differs": changed, **_answered(answer)}, in_words(answer, done=False))
    if detailed_exitcode and changed:
        raise typer.Exit(ExitCode.DIFFERS)


@changes_server(dry_run=False)
def apply(
    api: Api,
    path: Annotated[Path, typer.Argument(help="A YAML or TOML file of tasks, a folder of them, or a kept plan.")],
    prune: Prune = False,
    allow_delete: AllowDelete = 0,
) -> None:
    """Create, change and archive tasks, and set limits of groups, as the files want them, in one transaction.

    A plan that `plan --out` has kept is refused if one of its tasks or groups has changed since.
    """
    request = request_of(path, prune=prune, allow_delete=allow_delete)
    answer = api.change(APPLY_TASKS, **request.input(dry_run=False))
    api.result(_answered(answer), in_words(answer, done=True))


def _answered(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {"tasks": answer["planned"], "groups": answer["groups"], "definitions": answer["definitions"]}


MOST = 100_000
_EXPORTED: Final = {
    "channels": EXPORTED_CHANNELS,
    "webhooks": EXPORTED_WEBHOOKS,
    "hooks": EXPORTED_HOOKS,
    "alarms": EXPORTED_ALARMS,
}


@at_server
def export(
    api: Api,
    set_name: Annotated[str | None, typer.Option("--set", metavar="NAME", help="Only the tasks of this set.")] = None,
    unset: Annotated[
        str, typer.Option("--as", metavar="NAME", help="The set to write for tasks that are of none.")
    ] = UNSET_NAME,
    out: Annotated[Path | None, typer.Option("--out", help="Write to this file instead of standard output.")] = None,
) -> None:
    """Write the tasks and the rest in the form that `apply` reads: all that a file has, except tasks declared in code.

    A document for each set, and one for the groups, which `--set` leaves out: they are of no set.
    Applying the export changes nothing, except that tasks of no set get one. Channels, webhooks and hooks are
    left out, and a line on standard error says so, unless you are an administrator.
    """
    tasks: list[dict[str, Any]] = [
        task
        for task in api.rows(EXPORTED_TASKS, MOST)
        if task["source"] != "CODE" and (set_name is None or task["setName"] == set_name)
    ]
    groups = [] if set_name is not None else [one for one in api.rows(EXPORTED_GROUPS, MOST) if has_limits(one)]
    definitions: dict[str, list[dict[str, Any]]] = {}
    for kind, document in _EXPORTED.items():
        try:
            found = list(api.rows(document, MOST))
        except OperationError as error:
            if "FORBIDDEN" not in error.codes:
                raise
            found = [{"definition": None}]
        if any(one["definition"] is None for one in found):
            api.output.note(f"{kind} are left out: only an administrator sees all of them")
            continue
        of_files = [one for one in found if one.get("source") != "CODE"]
        definitions[kind] = [one for one in of_files if set_name is None or set_of(one) == set_name]
    if set_name is not None and not any((tasks, *definitions.values())):
        raise Refused(f"set '{set_name}' does not exist: no task, alarm, channel, webhook or hook is of it")
    text = files_of(tasks, unset, groups, definitions)
    exported = {"tasks": tasks, "groups": groups, **definitions}
    if out is None:
        api.result(exported, text.rstrip("\n"))
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"--out: cannot write {out}: {error.strerror}") from None
    limited = f" and the limits of {counted(len(groups), 'group')}" if groups else ""
    others = "".join(f" and {counted(len(some), kind[:-1])}" for kind, some in definitions.items() if some)
    summary = f"{counted(len(tasks), 'task')}{limited}{others}"
    api.result({**exported, "file": str(out)}, f"{summary} written to {out}")


FORMAT: Final = 4
"""The form of a plan that is kept in a file."""
_SIGNS: Final = {"CREATE": "+", "CHANGE": "~", "ARCHIVE": "-", "LEFT_OVER": "?", "KEEP": "="}
_WORDS: Final = {
    "CREATE": "create",
    "CHANGE": "change",
    "ARCHIVE": "archive",
    "LEFT_OVER": "left over",
    "KEEP": "unchanged",
}


@dataclass(frozen=True, slots=True)
class Request:
    """Ask a server to bring tasks and limits about.

    Attributes:
        sets: The sets, as the API takes them.
        groups: Groups with limits, likewise.
        prune: Whether tasks that are not named go.
        allow_delete: How many may, with any share.
        versions: The versions of the tasks in a plan; None: not demanded.
        group_versions: Likewise of groups.
        definition_versions: Likewise of channels, webhooks, hooks and alarms.
    """

    sets: list[dict[str, Any]]
    groups: list[dict[str, Any]]
    prune: bool
    allow_delete: int
    versions: list[dict[str, Any]] | None = None
    group_versions: list[dict[str, Any]] | None = None
    definition_versions: list[dict[str, Any]] | None = None

    def input(self, *, dry_run: bool) -> dict[str, Any]:
        """Return the input of ``applyTasks``."""
        asked = {
            "sets": self.sets,
            "groups": self.groups,
            "prune": self.prune,
            "allowDelete": self.allow_delete,
            "dryRun": dry_run,
        }
        if self.versions is None:
            return asked
        seen = {"expectedVersions": self.versions, "expectedGroups": self.group_versions}
        return {**asked, **seen, "expectedDefinitions": self.definition_versions}


def request_of(path: Path, *, prune: bool, allow_delete: int) -> Request:
    """Read the request of a file, a folder, or a kept plan.

    Raises:
        ConfigurationError: it cannot be used; every fault is reported.
    """
    kept = _kept(path)
    if kept is None:
        wanted = read_files(path)
        groups = [_group(one) for one in wanted.groups]
        return Request([_set(one) for one in wanted.sets], groups, prune, allow_delete)
    if prune or allow_delete:
        raise ConfigurationError(f"{path}: is a plan and says itself what goes; leave --prune and --allow-delete out")
    seen = (kept["versions"], kept["groupVersions"], kept["definitionVersions"])
    return Request(kept["sets"], kept["groups"], kept["prune"], kept["allowDelete"], *seen)


def _kept(path: Path) -> dict[str, Any] | None:
    """Return a plan that was kept; None if the file is none."""
    if path.suffix != ".json":
        return None
    try:
        if not path.is_file():
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["cronographPlan"] == FORMAT and isinstance(found["sets"], list):
            return cast("dict[str, Any]", found)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise ConfigurationError(f"{path}: must be a plan that `cronograph plan --out` has written")


def keep(path: Path, request: Request, answer: Mapping[str, Any]) -> None:
    """Write a plan with the versions that it saw, for its owner alone.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    document = {
        "cronographPlan": FORMAT,
        "sets": request.sets,
        "groups": request.groups,
        "prune": request.prune,
        "allowDelete": request.allow_delete,
        "versions": _versions(answer["planned"]),
        "groupVersions": _versions(answer["groups"]),
        "definitionVersions": [
            {"kind": one["kind"], **seen}
            for one, seen in zip(answer["definitions"], _versions(answer["definitions"]), strict=True)
        ],
    }
    try:
        path.touch(mode=0o600)
        if path.is_file():  # A device keeps its permissions.
            path.chmod(0o600)
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"--out: cannot write {path}: {error.strerror}") from None


def _versions(planned: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{"name": one["name"], "version": one["version"]} for one in planned]


def _group(one: WantedGroup) -> dict[str, Any]:
    return {"name": one.name, **{camel(name): shown(value) for name, value in one.limits.items()}}


def _set(one: WantedSet) -> dict[str, Any]:
    tasks = [
        {"name": task.name, **{camel(name): shown(value) for name, value in task.settings.items()}}
        for task in one.tasks
    ]
    definitions = {f"{kind.value}s": [input_of(thing) for thing in things] for kind, things in one.definitions.items()}
    return {"name": one.name, "tasks": tasks, **definitions}


def differs(answer: Mapping[str, Any]) -> bool:
    """Return whether anything would be done, or is left over."""
    return any(one["action"] != "KEEP" for one in [*answer["planned"], *answer["definitions"]]) or any(
        one["changes"] for one in answer["groups"]
    )


def in_words(answer: Mapping[str, Any], *, done: bool) -> str:
    """Return the plan, or the changes made, in words for people."""
    planned: Sequence[Mapping[str, Any]] = answer["planned"]
    others: list[dict[str, Any]] = [
        {**one, "name": f"{one['kind'].lower()} {one['name']}"} for one in answer["definitions"]
    ]
    lines = _groups_in_words(answer["groups"])
    for set_name in dict.fromkeys(one["setName"] for one in [*planned, *others]):
        lines.append(f"Set {set_name}")
        own = [one for one in [*planned, *others] if one["setName"] == set_name]
        for one in own:
            if one["action"] != "KEEP":
                lines.append(f"  {_SIGNS[one['action']]} {one['name']}: {_WORDS[one['action']]}")
                lines += [f"      {_change(change, new=one['action'] == 'CREATE')}" for change in one["changes"]]
        kept = sum(1 for one in own if one["action"] == "KEEP")
        if kept:
            lines.append(f"  = {kept} unchanged")
    counts = Counter(str(one["action"]) for one in planned)
    parts = [f"{counts[action]} {word}" for action, word in _TOTALS[done].items() if counts[action]]
    limits = sum(len(one["changes"]) for one in answer["groups"])
    changed = Counter(str(one["kind"]).lower() for one in others if one["action"] not in {"KEEP", "LEFT_OVER"})
    parts += [f"{counted(number, kind)} {'changed' if done else 'to change'}" for kind, number in changed.items()]
    if limits:
        parts.append(f"{counted(limits, 'limit')} of groups {'set' if done else 'to set'}")
    lines.append(f"{'Done' if done else 'Plan'}: {', '.join(parts) or 'nothing to do'}")
    if any(one["action"] == "LEFT_OVER" for one in [*planned, *others]):
        lines.append("What is left over is not in the file any more; --prune archives it.")
    return "\n".join(lines)


def _groups_in_words(planned: Sequence[Mapping[str, Any]]) -> list[str]:
    if not planned:
        return []
    lines = ["Groups"]
    for one in planned:
        if one["changes"]:
            lines.append(f"  ~ {one['name']}: {_WORDS['CHANGE']}")
            lines += [f"      {_change(change, new=False)}" for change in one["changes"]]
    kept = sum(1 for one in planned if not one["changes"])
    return [*lines, f"  = {kept} unchanged"] if kept else lines


_DONE: Final = {
    "CREATE": "created",
    "CHANGE": "changed",
    "ARCHIVE": "archived",
    "LEFT_OVER": "left over",
    "KEEP": "unchanged",
}
_TOTALS: Final = {
    False: {**_DONE, "CREATE": "to create", "CHANGE": "to change", "ARCHIVE": "to archive"},
    True: _DONE,
}


def _change(change: Mapping[str, Any], *, new: bool) -> str:
    field: str = change["field"]
    before, after = _value(field, change["before"]), _value(field, change["after"])
    return f"{field}: {after}" if new else f"{field}: {before} -> {after}"


def _value(field: str, value: Any) -> str:  # noqa: ANN401 - any JSON value
    known = _IN_WORDS.get(field)
    return json.dumps(value, ensure_ascii=False) if known is None or value is None else known(value)


def _schedule_in_words(schedule: Mapping[str, str]) -> str:
    zone = "" if schedule["timezone"] == "UTC" else f" in {schedule['timezone']}"
    return f"{schedule['syntax']} '{schedule['value']}'{zone}"


def _rate_in_words(rate: Mapping[str, Any]) -> str:
    return f"{Rate.of(rate['limit'], rate['per'], rate['burst']).words}, {rate['burst']} at once"


def _cap_in_words(cap: Mapping[str, Any]) -> str:
    return f"{cap['limit']:,} waiting, then {str(cap['whenFull']).lower()}"


_IN_WORDS: Final[Mapping[str, Callable[[Any], str]]] = {
    "schedule": _schedule_in_words,
    "rate": _rate_in_words,
    "cap": _cap_in_words,
}
