"""``cronograph webhooks``: subscriptions whose results are posted to other programs."""

import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from ....graphql.client.command_line import (
    CREATE_WEBHOOK,
    DELETE_WEBHOOK,
    REDELIVER_WEBHOOK,
    RESUME_WEBHOOK,
    UPDATE_WEBHOOK,
    WEBHOOKS,
)
from ....graphql.client.mutations import WEBHOOK_DOCUMENTS
from ....jobs.core.base.errors import ConfigurationError
from ....jobs.core.base.times import counted
from ..base.application import CommandLine
from .alarms import DELIVERY_LIST
from .api import Api, Limit, at_server, changes_server
from .lists import Columns, Filter, Listing, Sort, Watch, add_list, show
from .values import FLAG, TEXT, TIME, given_of, json_of

WEBHOOK_LIST: Final = Listing(
    "webhooks",
    WEBHOOKS,
    ("name", "state", "url", "waitingCount", "failures", "nextTryAt", "stopMessage"),
    {
        "name": TEXT,
        **dict.fromkeys(("isEnabled", "isOrdered", "isStopped"), FLAG),
        **dict.fromkeys(("createdAt", "updatedAt"), TIME),
    },
    ("name", "updatedAt"),
)
webhooks = CommandLine(
    help="Look at webhooks, create, change, resume and delete them, on a running server.", no_args_is_help=True
)
WebhookName = Annotated[str, typer.Argument(help="Name of the webhook.")]
Secrets = Annotated[
    list[str] | None,
    typer.Option("--secret", metavar="NAME", help="A secret that signs; repeatable, at most 3."),
]
_READY: Final = ", ".join(WEBHOOK_DOCUMENTS)
Document = Annotated[
    str | None,
    typer.Option("--document", metavar="FILE", help=f"A file with the subscription, or one of {_READY}."),
]
Variables = Annotated[
    str | None, typer.Option("--variables", metavar="JSON", help="The variables of the document, an object.")
]
Ordered = Annotated[
    bool | None,
    typer.Option("--ordered/--unordered", help="Whether a message waits until the one before it was accepted."),
]
Cursor = Annotated[str, typer.Option("--after", metavar="CURSOR", help="An event cursor.")]
add_list(webhooks, WEBHOOK_LIST, "List webhooks.")


@webhooks.command(name="create")
@changes_server()
def create_webhook(
    api: Api,
    name: WebhookName,
    address: Annotated[str, typer.Argument(help="URL to post to.", metavar="URL")],
    document: Document = "executions",
    variables: Variables = None,
    secret: Secrets = None,
    ordered: Ordered = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="CURSOR", help="Begin behind this event. (default: now)")
    ] = None,
) -> None:
    """Create a webhook; with --dry-run show the messages it would have sent about the last hour."""
    values = None if variables is None else json_of(variables, "--variables")
    sent = given_of(document=_document(document), variables=values, secrets=secret)
    chosen = sent | given_of(ordered=ordered, after=after)
    _saved(api, api.change(CREATE_WEBHOOK, name=name, url=address, **chosen), f"Webhook {name} created")


@webhooks.command(name="update")
@changes_server(version=True)
def update_webhook(
    api: Api,
    name: WebhookName,
    address: Annotated[str | None, typer.Option("--url", metavar="URL", help="URL to post to.")] = None,
    document: Document = None,
    variables: Variables = None,
    secret: Secrets = None,
    ordered: Ordered = None,
    enabled: Annotated[bool | None, typer.Option("--enable/--disable", help="Whether it sends.")] = None,
) -> None:
    """Change a webhook; with --dry-run show the messages it would have sent about the last hour."""
    values = None if variables is None else json_of(variables, "--variables")
    sent = given_of(document=_document(document), variables=values, secrets=secret)
    chosen = sent | given_of(url=address, ordered=ordered, enabled=enabled)
    _saved(api, api.change(UPDATE_WEBHOOK, name=name, **chosen), f"Webhook {name} changed")


def _saved(api: Api, payload: dict[str, Any], text: str) -> None:
    preview, webhook = payload["preview"], payload["webhook"]
    if preview is None:
        api.result({"webhook": webhook, "preview": None}, text)
        return
    shown = "".join(f"\n{json.dumps(one, indent=2, ensure_ascii=False)}" for one in preview["messages"])
    more = "at least " if preview["hasMore"] else ""
    about = f"{text}; about the last hour it would have sent {more}{counted(preview['eventCount'], 'result')}{shown}"
    api.result({"webhook": webhook, "preview": preview}, about)


@webhooks.command(name="delete")
@changes_server(version=True)
def delete_webhook(api: Api, name: WebhookName) -> None:
    """Delete a webhook; messages that wait are given up."""
    api.result({"webhook": api.change(DELETE_WEBHOOK, name=name)["webhook"]}, f"Webhook {name} deleted")


@webhooks.command(name="resume")
@changes_server(version=True)
def resume_webhook(
    api: Api,
    name: WebhookName,
    skip: Annotated[bool, typer.Option("--skip", help="Give up the oldest message that waits.")] = False,
) -> None:
    """Let a webhook send again that was parked or stopped, or that leaves a failing receiver alone."""
    webhook = api.change(RESUME_WEBHOOK, name=name, skip=skip)["webhook"]
    api.result({"webhook": webhook}, f"Webhook {name} sends again")


@webhooks.command(name="redeliver")
@changes_server(version=True)
def redeliver(api: Api, name: WebhookName, after: Cursor) -> None:
    """Send the messages with results behind a cursor again, each with its message id."""
    done = api.change(REDELIVER_WEBHOOK, name=name, after=after)
    count = done["count"]
    api.result(
        {"webhook": done["webhook"], "count": count}, f"{counted(count, 'message')} of webhook {name} sent again"
    )


@webhooks.command(name="deliveries")
@at_server
def show_deliveries(
    api: Api,
    name: WebhookName,
    filter: Filter = None,
    columns: Columns = None,
    sort: Sort = None,
    limit: Limit = 50,
    watch: Watch = None,
) -> None:
    """List the messages of a webhook, with the answers of the receiver."""
    shape, own = (filter, columns, sort, limit, watch), {"channel": {"eq": name}}
    show(api, DELIVERY_LIST, shape, own, (WEBHOOK_LIST, name))


def _document(chosen: str | None) -> str | None:
    if chosen is None or chosen in WEBHOOK_DOCUMENTS:
        return None if chosen is None else WEBHOOK_DOCUMENTS[chosen]
    try:
        return Path(chosen).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"--document: {chosen}: {error}; or name one of {_READY}") from None
