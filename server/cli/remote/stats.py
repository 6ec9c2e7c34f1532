"""``cronograph stats``: the figures of the overview."""

import sys

from ....graphql.client.command_line import STATS
from .api import Api, at_server
from .lists import Watch, details, repeat


@at_server
def stats(api: Api, watch: Watch = None) -> None:
    """Show what runs and waits now, and the last 24 hours."""

    def once() -> None:
        found = api.ask(STATS)["overview"]
        api.result({"overview": found}, details(found))

    repeat(once, watch, clear=not api.output.as_json and sys.stdout.isatty())
