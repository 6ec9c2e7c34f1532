"""``cronograph log``: the execution log."""

from typing import Annotated, Any

import typer

from .api import Api, Limit, at_server
from .listings import EXECUTION_LIST
from .lists import Columns, Filter, Sort, Watch, show

_FAILED: dict[str, Any] = {"outcome": {"in": ["FAILED", "TIMED_OUT", "LOST"]}}


@at_server
def log(
    api: Api,
    failed: Annotated[bool, typer.Option("--failed", help="Only failed, timed out and lost ones.")] = False,
    filter: Filter = None,
    columns: Columns = None,
    sort: Sort = None,
    limit: Limit = 50,
    watch: Watch = None,
) -> None:
    """Show the execution log, newest first."""
    show(api, EXECUTION_LIST, (filter, columns, sort, limit, watch), _FAILED if failed else None)
