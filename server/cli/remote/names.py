"""Completes names of tasks, jobs, groups and nodes in a shell: asked from the server, and kept for a minute."""

import hashlib
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import typer

from ....graphql.client import Client, ClientError
from ....graphql.client.command_line import NAMES, sent
from ..base.options import DEFAULT_SERVER

KEPT: Final = 60.0
"""Seconds for which names are not asked for again."""
PATIENCE: Final = 1.5
"""Seconds that a server may take; somebody waits at a prompt."""
MOST: Final = 200

Completion = Callable[[typer.Context, str], list[str]]


def _completing(kind: str) -> Completion:
    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        url = ctx.params.get("url") or os.environ.get("CRONOGRAPH_URL") or DEFAULT_SERVER
        return names(kind, url, incomplete)

    return complete


task_names, job_names, group_names, node_names = map(_completing, ("tasks", "jobs", "groups", "nodes"))


def job_or_task_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return names of tasks where the line says ``--task``, else of jobs."""
    return (task_names if ctx.params.get("task") else job_names)(ctx, incomplete)


def names(kind: str, url: str, beginning: str, now: Callable[[], float] = time.time) -> list[str]:
    """Return up to 200 names with this beginning; none if the server is unavailable or hides them from this account.

    Args:
        kind: ``tasks``, ``jobs``, ``groups`` or ``nodes``.
        beginning: The text typed so far.
        now: Seconds since the epoch.
    """
    place = _place(url)
    known = _read(place)
    for length in range(len(beginning) + 1):
        entry = known.get(f"{kind} {beginning[:length]}")
        # What a shorter beginning had found is enough if it was all.
        usable = entry and 0 <= now() - entry["at"] < KEPT and (entry["all"] or length == len(beginning))
        if entry and usable:
            return [name for name in entry["names"] if name.startswith(beginning)]
    try:
        with Client(url, timeout=PATIENCE) as client:
            wanted = {"first": MOST, "filter": {"name": {"startsWith": beginning}}}
            answer = client.run_operation(sent(NAMES[kind], wanted))
    except ClientError:
        # At a prompt there is no place for an error; the command itself says it.
        return []
    (page,) = answer.values()
    found = sorted(one["name"] for one in page["nodes"])
    fresh = {key: entry for key, entry in known.items() if 0 <= now() - entry["at"] < KEPT}
    fresh[f"{kind} {beginning}"] = {"at": now(), "all": not page["pageInfo"]["hasNextPage"], "names": found}
    _write(place, fresh)
    return found


def _place(url: str) -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    folder = Path(base) if base else Path(os.environ.get("HOME", "/")) / ".cache"
    # What one account sees, another one may not.
    account = f"{url} {os.environ.get('CRONOGRAPH_TOKEN', '')}"
    return folder / "cronograph" / f"names-{hashlib.sha256(account.encode()).hexdigest()[:16]}.json"


def _read(place: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(place.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _write(place: Path, entries: dict[str, Any]) -> None:
    # Without a place to keep them they are asked for each time.
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        new = place.with_name(f"{place.name}.{os.getpid()}")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(entries, file)
        new.replace(place)
