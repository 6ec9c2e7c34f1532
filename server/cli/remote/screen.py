"""The screen of `top`: tables that are read again every second, and keys that act on the marked row."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import ClassVar, Final

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Static
from typing_extensions import override

from ....graphql.client import AsyncClient, ClientError
from ....graphql.client.command_line import CANCEL_RUNS, PAUSE_GROUP, RESUME_GROUP, RETRY_RUN, sent
from .top import HEADS, Board, Row

InputOf = Callable[[str], Mapping[str, object]]
TITLES: Final = {"running": "Running", "groups": "Groups", "nodes": "Nodes", "failures": "Failures"}


class Question(ModalScreen[bool]):
    """Asks before something is changed; y or Enter does it."""

    CSS = """
    Question { align: center middle; }
    Question Static { width: auto; padding: 1 3; background: $panel; border: round $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("y,enter", "answer(True)", "Yes"),
        ("n,escape,q", "answer(False)", "No"),
    ]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    @override
    def compose(self) -> ComposeResult:
        yield Static(f"{self._text}  (y/n)", markup=False)

    def action_answer(self, agreed: bool) -> None:
        """Close with the answer."""
        self.dismiss(agreed)


class Top(App[None]):
    """Show the running jobs, live.

    Args:
        first: The text to show at once.
        every: Seconds between two looks.
    """

    TITLE = "cronograph top"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #summary { height: 1; padding: 0 1; text-style: bold; }
    #trouble { height: 1; padding: 0 1; background: $error; color: $text; display: none; }
    #middle { height: 1fr; }
    DataTable { height: 1fr; border: round $primary; }
    DataTable:focus { border: round $accent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("c", "cancel", "Cancel run"),
        ("r", "retry", "Retry failed"),
        ("p", "pause", "Pause/resume group"),
        ("q", "quit", "Quit"),
    ]

    def __init__(self, url: str, first: Board, every: float = 1.0) -> None:
        super().__init__()
        self._client = AsyncClient(url, timeout=10.0)
        self._board = first
        self._every = every
        self._away_since: datetime | None = None
        # Kept, not looked for: while a question is open, or the terminal is given back, the screen does not have them.
        self._summary = Static(id="summary", markup=False)
        self._trouble = Static(id="trouble", markup=False)
        self._tables = {name: self._table(name) for name in HEADS}

    @override
    def compose(self) -> ComposeResult:
        yield self._summary
        yield self._trouble
        yield self._tables["running"]
        yield Horizontal(self._tables["groups"], self._tables["nodes"], id="middle")
        yield self._tables["failures"]
        yield Footer()

    @staticmethod
    def _table(name: str) -> DataTable[Text]:
        table = DataTable[Text](id=name, cursor_type="row", zebra_stripes=True)
        table.border_title = TITLES[name]
        return table

    def on_mount(self) -> None:
        """Show the first look, and look again and again."""
        for name, table in self._tables.items():
            table.add_columns(*HEADS[name])
        self._show()
        self.set_interval(self._every, self._look_in_background)

    async def on_unmount(self) -> None:
        """Close the connection."""
        await self._client.close()

    def _look_in_background(self) -> None:
        if not any(worker.name == "look" for worker in self.workers if not worker.is_finished):
            self.run_worker(self.look(), name="look")

    async def look(self) -> None:
        """Read everything again; if the server is unavailable, say so and keep the last answer."""
        try:
            answer = await self._client.run_operation(sent(Board.document, Board.amounts))
            self._board = Board.of(answer)
        except ClientError as error:
            self._away_since = self._away_since or datetime.now().astimezone()
            self._trouble.update(f"no answer since {self._away_since:%H:%M:%S}, trying again: {error}")
            self._trouble.display = True
            return
        self._away_since = None
        self._trouble.display = False
        self._show()

    def _show(self) -> None:
        board = self._board
        self._summary.update(board.summary())
        self._fill("running", board.running())
        self._fill("groups", board.groups())
        self._fill("nodes", board.nodes())
        self._fill("failures", board.failures())

    def _fill(self, name: str, rows: Mapping[str, Row]) -> None:
        """Put new rows into a table; the mark stays where it was, or on the same line if that row is gone."""
        table = self._tables[name]
        marked, line = self._marked(name), table.cursor_row
        table.clear()
        for key, row in rows.items():
            # As text, since what jobs say may look like markup.
            table.add_row(*map(Text, row), key=key)
        places = {key: place for place, key in enumerate(rows)}
        table.move_cursor(row=places.get(marked or "", min(line, max(0, len(places) - 1))))

    def _marked(self, name: str) -> str | None:
        """Return the key of the row that is marked in a table; None if it has no rows."""
        table = self._tables[name]
        if not table.row_count:
            return None
        return table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value

    def action_cancel(self) -> None:
        """Cancel the run that is marked."""
        self._ask("running", "Cancel run {}?", CANCEL_RUNS, lambda key: {"runs": {"ids": [key]}})

    def action_retry(self) -> None:
        """Retry the failed run that is marked."""
        self._ask("failures", "Retry run {}?", RETRY_RUN, lambda key: {"id": key})

    def action_pause(self) -> None:
        """Pause the group that is marked, or resume it."""
        group = self._marked("groups")
        paused = group is not None and self._board.is_paused(group)
        word, document = ("Resume", RESUME_GROUP) if paused else ("Pause", PAUSE_GROUP)
        self._ask("groups", f"{word} group {{}}?", document, lambda key: {"name": key})

    def _ask(self, table: str, text: str, document: str, input_of: InputOf) -> None:
        key = self._marked(table)
        if key is None:
            self.notify(f"{TITLES[table]}: there is nothing to choose", severity="warning")
            return

        def answered(agreed: bool | None) -> None:
            if agreed:
                self.run_worker(self._change(document, input_of(key)), name="change")

        self.push_screen(Question(text.format(key)), answered)

    async def _change(self, document: str, given: Mapping[str, object]) -> None:
        try:
            (payload,) = (await self._client.run_operation(sent(document, {"input": given}))).values()
        except ClientError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        for fault in payload["errors"]:
            self.notify(fault["message"], severity="error", markup=False)
        if not payload["errors"]:
            self.notify("Done")
        await self.look()
