"""Applies the files of ``serve --tasks`` to tasks and groups: at the start, and again at SIGHUP."""

import asyncio
import logging
from pathlib import Path

from ...graphql.resolving.following import prepare
from ...graphql.schema import shared_schema
from ...jobs.accounts.rules.secrets import KeySource
from ...jobs.actions.idempotent import acting
from ...jobs.core.actor import FILE
from ...jobs.core.base.errors import CronographError, UserError, refuse
from ...jobs.core.task_sets import DefinitionKind, TaskAction
from ...jobs.delivery.declared import apply_files
from ...jobs.delivery.webhooks import Webhook
from ...jobs.own.threads import in_own_thread
from ...jobs.runtime.base.service import persistently
from ...jobs.store.db.database import Database, SQLAlchemyError
from .reading import TaskFilesError, Wanted, read_files

log = logging.getLogger("cronograph")


class TaskFiles:
    """Files of tasks, and the database that they are for."""

    def __init__(self, path: Path, database: Database, keys: KeySource) -> None:
        self._path = path
        self._database = database
        self._keys = keys
        self._applying: asyncio.Task[None] | None = None
        self._asked = False

    async def apply(self) -> None:
        """Read and apply them, in one transaction, and log the changes. Nothing is archived.

        Raises:
            TaskFilesError: they cannot be used, or the tasks cannot be as they are wanted; nothing was changed.
        """
        wanted = await in_own_thread(read_files, self._path)
        try:
            _check_documents(wanted)
            applied = await persistently(
                lambda: self._database.write(
                    acting, FILE, apply_files, wanted.sets, groups=wanted.groups, keys=self._keys
                )
            )
        except UserError as refusal:
            sentences = [f"{self._path}: {_place(fault, wanted)}{fault.message}" for fault in refusal.faults]
            raise TaskFilesError(sentences) from None
        planned = applied.tasks
        counts = {action: sum(1 for one in planned if one.action is action) for action in TaskAction}
        summary = ", ".join(f"{count} {action.value}" for action, count in counts.items() if count)
        log.info("tasks of %s: %s", self._path, summary or "none")
        for one in planned:
            if one.action is not TaskAction.KEEP:
                changed = one.changes if one.action is TaskAction.CHANGE else ()
                fields = f" ({', '.join(change.field for change in changed)})" if changed else ""
                log.info("task %s of set %s: %s%s", one.name, one.set_name, one.action.value, fields)
        for other in applied.definitions:
            if other.action is not TaskAction.KEEP:
                log.info("%s %s of set %s: %s", other.kind.value, other.name, other.set_name, other.action.value)
        for group in applied.groups:
            if group.changes:
                log.info("group %s: change (%s)", group.name, ", ".join(change.field for change in group.changes))

    def apply_again(self) -> None:
        """Apply them in the running event loop, for a signal; an error is logged, and changes nothing.

        While they are being applied, ask for one more time: they may have changed since they were read.
        """
        self._asked = True
        if self._applying is None or self._applying.done():
            self._applying = asyncio.create_task(self._apply_safely(), name="cronograph-task-files")

    async def _apply_safely(self) -> None:
        while self._asked:
            self._asked = False
            await self._apply_once()

    async def _apply_once(self) -> None:
        faults: list[str] = []
        try:
            await self.apply()
        except TaskFilesError as error:
            faults = error.faults
        except (CronographError, SQLAlchemyError) as error:
            faults = [str(error)]
        for fault in faults:
            log.error("tasks were not applied: %s", fault)


def _place(fault: UserError, wanted: Wanted) -> str:
    """Return ``task 'x': `` or ``group 'x': `` where the fault is about one."""
    if len(fault.path) >= 2 and fault.path[0] == "groups":
        return f"group '{wanted.groups[int(fault.path[1])].name}': "
    if len(fault.path) < 4 or fault.path[0] != "sets":
        return ""
    one, kind, place = wanted.sets[int(fault.path[1])], fault.path[2].removesuffix("s"), int(fault.path[3])
    named = one.tasks[place] if kind == "task" else one.definitions[DefinitionKind(kind)][place]
    return f"{kind} '{named.name}': "


def _check_documents(wanted: Wanted) -> None:
    """Judge the documents of webhooks; they are executed with the rights of job code, which may all.

    Raises:
        UserError: one is none.
    """
    faults: list[UserError] = []
    for place, one in enumerate(wanted.sets):
        for number, webhook in enumerate(one.definitions.get(DefinitionKind.WEBHOOK, ())):
            assert isinstance(webhook, Webhook)
            try:
                prepare(shared_schema(), webhook.document, webhook.variables)
            except UserError as fault:
                faults.append(fault.with_prefix("sets", str(place), "webhooks", str(number)))
    refuse(faults)
