"""CronJobs of Kubernetes, from manifests in YAML."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, cast
from zoneinfo import ZoneInfo

import yaml
from yaml.nodes import ScalarNode

from ...jobs.core.schedule import ScheduleError, parse_duration
from ...jobs.core.schedule.zones import find_zone
from ..task_files.reading import NotPlainError, PlainLoader, is_number
from ..task_files.writing import BASE_8
from .fields import NICKNAMES, Fields, interval_of, parse_crontab, schedules_of, times_of
from .model import Carried, LeftOut, UnsaidError, plain_name, variables
from .probe import windows

NOTES: Final = (
    "A CronJob without `timeZone` is due in the zone of the controller: UTC unless `--timezone` says another.",
    "The job `shell` is there only on nodes with the setting `shell = true`, and runs as the user of the server.",
    "A failed attempt is retried at once, or after `retry_delay`; Kubernetes waits 10 s, 20 s, 40 s and so on.",
)
_OVERLAP: Final = {"Allow": "allow", "Forbid": "skip", "Replace": "replace"}
_CONTAINER: Final = frozenset({"name", "command", "args", "env", "workingDir", "imagePullPolicy"})
_POD: Final = frozenset({"containers", "restartPolicy", "imagePullSecrets"})
_DOCUMENT: Final = re.compile(r"^---(?=\s)", re.MULTILINE)
"""The line between documents: one that cannot be read leaves out itself alone."""
_TEMPLATE: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_JOB: Final = frozenset({"template", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"})


class _Loader(PlainLoader):
    """Keeps a scalar that a file of tasks must not have: Kubernetes has other parts that do not matter here."""

    def judge_scalar(self, node: ScalarNode, *, plain: bool) -> None:
        """Leave numbers of base 8, which Kubernetes knows, too, and take everything else that is odd for text."""
        try:
            super().judge_scalar(node, plain=plain)
        except NotPlainError:
            if not (BASE_8.fullmatch(node.value) and is_number(node)):
                node.tag = "tag:yaml.org,2002:str"


def read(path: Path, text: str, zone: str, span: tuple[int, int]) -> Iterator[Carried | LeftOut]:
    """Yield each CronJob of a file, which may have several documents and lists of them."""
    begun = 0
    for part in _DOCUMENT.split(text):
        start, begun = begun, begun + part.count("\n")
        try:
            documents = _documents(part)
        except yaml.YAMLError as error:
            yield LeftOut(str(path), path.name, _why(part, error, start))
            continue
        for one in (item for document in documents for item in _items(document)):
            place = f"{path}: CronJob {_table(one.get('metadata')).get('name', 'without a name')}"
            schedule = str(_table(one.get("spec")).get("schedule", "no schedule"))
            try:
                yield _cron_job(place, schedule, one, zone, span)
            except UnsaidError as error:
                yield LeftOut(place, schedule, str(error))


def _documents(part: str) -> list[Any]:
    """Return the documents of a part. To YAML tabs are no blanks, so JSON with tabs is read as JSON."""
    try:
        return list(yaml.load_all(part, _Loader))
    except yaml.YAMLError:
        if part.lstrip().startswith("{"):
            with suppress(ValueError, RecursionError):
                return [json.loads(part)]
        raise


def _why(part: str, error: yaml.YAMLError, before: int) -> str:
    """Return why a part cannot be read, and at which line of its file."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        line, problem = error.problem_mark.line, str(error.problem)
    else:
        line, problem = part.count("\n", 0, getattr(error, "position", 0)), str(error)
    said = f"line {before + line + 1}: is no YAML that can be read: {' '.join(problem.split())[:200]}"
    return f"{said}; it is a template: import what `helm template` makes of it" if _TEMPLATE.search(part) else said


def _items(document: object) -> Iterator[Mapping[str, Any]]:
    one = _table(document)
    if one.get("kind") == "CronJob":
        yield one
    elif str(one.get("kind", "")).endswith("List"):
        for item in _list(one.get("items")):
            yield from _items(item)


def _table(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return list(cast("Iterable[Any]", value)) if isinstance(value, list) else []


def _cron_job(place: str, schedule: str, document: Mapping[str, Any], zone: str, span: tuple[int, int]) -> Carried:
    metadata, spec = _table(document.get("metadata")), _table(document.get("spec"))
    job = _table(_table(spec.get("jobTemplate")).get("spec"))
    pod = _table(_table(job.get("template")).get("spec"))
    notes: list[str] = []
    settings: dict[str, Any] = {"overlap": _overlap(spec), "retries": _number(job, "backoffLimit", 6)}
    deadline = _number(spec, "startingDeadlineSeconds", None)
    if deadline is not None:
        settings |= {"misfire": "none", "misfire_grace": deadline}
    if (limit := _number(job, "activeDeadlineSeconds", None)) is not None:
        settings["max_duration"] = limit
    if not isinstance(suspended := spec.get("suspend"), bool | None):
        raise UnsaidError(f"suspend must be true or false, got {suspended!r:.60}")
    if suspended:
        settings["enabled"] = False
    if metadata.get("namespace"):
        notes.append(f"It is in the namespace '{metadata['namespace']}' there.")
    args = _command(pod, notes)
    for kind, table, known in (("job", job, _JOB), ("pod", pod, _POD)):
        if lost := sorted(table.keys() - known):
            notes.append(f"Of its {kind} is not carried: {', '.join(lost)}.")
    made = Carried(
        plain_name(str(metadata.get("name", ""))), place, schedule, args=args, settings=settings, notes=notes
    )
    return _due(made, schedule, str(spec.get("timeZone") or ""), zone, span)


def _overlap(spec: Mapping[str, Any]) -> str:
    policy = spec.get("concurrencyPolicy") or "Allow"
    if not isinstance(policy, str) or policy not in _OVERLAP:
        raise UnsaidError(f"concurrencyPolicy must be Allow, Forbid or Replace, got {policy!r:.60}")
    return _OVERLAP[policy]


def _number(table: Mapping[str, Any], name: str, otherwise: int | None) -> int | None:
    value = table.get(name)
    if value is None:
        return otherwise
    if type(value) is not int or value < 0:
        raise UnsaidError(f"{name} must be a number from 0 on, got {value!r:.60}")
    return value


def _command(pod: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """Return the arguments of ``shell``: the command of the first container."""
    containers = _list(pod.get("containers"))
    container: Mapping[str, Any] = _table(containers[0]) if containers else {}
    if not container.get("command"):
        raise UnsaidError("its container has no `command`: only its image knows what it runs")
    for name in ("command", "args"):
        if not isinstance(container.get(name) or [], list):
            raise UnsaidError(f"{name} must be a list, got {container[name]!r:.60}")
    command = [_text(name, word) for name in ("command", "args") for word in _list(container.get(name))]
    if len(containers) > 1:
        notes.append(f"Only the first of its {len(containers)} containers is carried.")
    lost = sorted(container.keys() - _CONTAINER)
    notes.append("The command runs on a node.")
    notes[-1] += f" Of its container is not carried: {', '.join(lost)}." if lost else ""
    given = [_table(one) for one in _list(container.get("env"))]
    own = [(str(one.get("name")), one.get("value")) for one in given if "valueFrom" not in one]
    plain = {name: "" if value is None else _text(f"env {name}", value) for name, value in own}
    if any("$(" in word for word in (*command, *plain.values())):
        notes.append("It has `$(…)`: Kubernetes puts variables in their place, `shell` does not.")
    sources = [str(one.get("name")) for one in given if "valueFrom" in one]
    notes += [f"The variable '{name}' comes from elsewhere there: set it here." for name in sources]
    args: dict[str, Any] = {"command": command}
    if kept := variables(plain, notes):
        args["environment"] = kept
    if container.get("workingDir"):
        args["directory"] = str(container["workingDir"])
    return args


def _text(place: str, value: object) -> str:
    if not isinstance(value, str):
        raise UnsaidError(f"{place} must be text, got {value!r:.60}: write it in quotes, as Kubernetes wants it, too")
    return value


def _due(made: Carried, schedule: str, own: str, zone: str, span: tuple[int, int]) -> Carried:
    """Add when it is due."""
    prefix, _, rest = schedule.partition(" ")
    if prefix.startswith(("TZ=", "CRON_TZ=")):
        own, schedule = prefix.partition("=")[2], rest.strip()
    chosen = own or zone
    try:
        find_zone(chosen)
        if schedule.startswith("@every "):
            spec = interval_of(parse_duration(schedule.removeprefix("@every ")))
            return replace(made, schedules=[spec], uncompared="it counts from the start of the controller there")
    except ScheduleError as error:
        raise UnsaidError(str(error)) from None
    fields = NICKNAMES.get(schedule, schedule).replace("?", "*").split()
    if len(fields) != 5:
        raise UnsaidError(f"'{schedule}' is neither five fields nor a nickname that Kubernetes knows")
    # A field with a star that has no step restricts nothing; if both are restricted, one is enough.
    stars = [any(part in ("*", "*/1") for part in fields[place].split(",")) for place in (2, 4)]
    read = Fields(*parse_crontab(fields, opens=True, highest_weekday=6), either=not any(stars))
    used = ZoneInfo(chosen)
    times = windows(partial(times_of, read, used, polled=True), used, *span)
    return replace(made, schedules=schedules_of(read, chosen), windows=times)
