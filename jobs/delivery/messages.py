"""The messages of each kind of channel, made of the payload of a delivery. No input or output."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from email.message import EmailMessage
from html import escape
from typing import Any, Final, NamedTuple, cast

from ..accounts.rules.secrets import signature_key
from ..base.services import Result
from ..core.base.times import time_text
from ..core.model import Json
from ..store.schema.types import WrittenJson
from .rules import ChannelKind, Delivery, DeliveryEvent, heading

SHOWN: Final = 10
"""Alarms that a chat message or a mail shows in full."""
NEVER: Final = timedelta(days=365)
"""Alertmanager ends an alarm by itself after five minutes unless it is given a time: it ends when we say so."""


def signed_headers(secrets: Sequence[str], message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """Return the headers of Standard Webhooks; with several secrets each signs, without one none does."""
    stamp = str(int(at.timestamp()))
    content = b".".join([message_id.encode(), stamp.encode(), body])
    signatures = (hmac.new(signature_key(one), content, hashlib.sha256).digest() for one in secrets)
    texts = [f"v1,{base64.b64encode(one).decode()}" for one in signatures]
    headers = {"webhook-id": message_id, "webhook-timestamp": stamp}
    return {**headers, "webhook-signature": " ".join(texts)} if texts else headers


def message_of(webhook: str, answers: list[Json], cursor: str | None, now: datetime) -> dict[str, Json]:
    """Return the body of a message of a webhook; one without the cursor of its last result is a test."""
    return {
        "type": "subscription.test" if cursor is None else "subscription.events",
        "timestamp": time_text(now),
        "data": {"webhook": webhook, "cursor": cursor, "events": answers},
    }


class WrittenResults(NamedTuple):
    """The results of one message as JSON, for all webhooks that get them; ``cursor`` is that of the last event."""

    text: str
    cursor: str

    @classmethod
    def of(cls, results: Sequence[Result]) -> "WrittenResults":
        """Write results."""
        answers = [{"cursor": str(one.event.cursor), "at": time_text(one.event.at), **one.answer} for one in results]
        return cls(json.dumps(answers), str(results[-1].event.cursor))

    def for_webhook(self, name: str, now: datetime) -> WrittenJson:
        """Return the body of the message of a webhook, see ``message_of``."""
        head = json.dumps(message_of(name, [], self.cursor, now)).removesuffix("[]}}")
        return WrittenJson(head + self.text + "}}")


def addressed(delivery: Delivery, public_url: str | None) -> Delivery:
    """Return a delivery with the server before the paths of its pages, which who records it need not know.

    Without ``public_url``, nobody could open the pages: there are none. One that has its addresses keeps them, so that
    every try of every node sends the same.
    """
    server = None if public_url is None else public_url.rstrip("/")
    alarms = [_addressed(one, server) for one in _notices(delivery)]
    data = {**delivery.payload["data"], "alarms": alarms}
    return replace(delivery, payload={**delivery.payload, "data": data}) if alarms else delivery


def _addressed(notice: Mapping[str, Any], server: str | None) -> dict[str, Any]:
    if not (notice["url"] or "").startswith("/"):
        return dict(notice)
    if server is None:
        return {**notice, "url": None, "links": {}}
    links = {name: f"{server}{path}" for name, path in notice["links"].items()}
    return {**notice, "url": f"{server}{notice['url']}", "links": links}


def body_of(kind: ChannelKind, settings: Mapping[str, Json], delivery: Delivery) -> bytes:
    """Return the JSON body of a delivery, always the same for the same delivery."""
    document: Json = delivery.payload
    if kind is ChannelKind.CHAT:
        document = (_teams if settings.get("form") == "teams" else _slack)(shown(delivery))
    elif kind is ChannelKind.ALERTMANAGER:
        document = _alerts(delivery)
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


class Part(NamedTuple):
    """One alarm of a message: its sentence, the facts about it, its page, and the links for its repair."""

    sentence: str
    facts: list[str]
    url: str | None
    links: Mapping[str, str]

    def text(self, between: str) -> str:
        """Return the sentence and the facts."""
        return between.join([self.sentence, *self.facts])


class Shown(NamedTuple):
    """A message as people read it, which each kind of channel puts into its form; ``more``: the alarms left out."""

    title: str
    parts: list[Part]
    more: list[str]


def shown(delivery: Delivery) -> Shown:
    """Return the parts of a delivery that people read."""
    notices = _notices(delivery)
    parts = [Part(one["sentence"], _facts(one), one["url"], one["links"]) for one in notices[:SHOWN]]
    more = [f"and {len(notices) - SHOWN} more"] if len(notices) > SHOWN else []
    return Shown(" ".join(heading(notices, delivery.event).split()), parts, more)


def _notices(delivery: Delivery) -> list[dict[str, Any]]:
    """Return the alarms of a delivery as they were recorded."""
    data = cast("Mapping[str, Any]", delivery.payload["data"])
    return list(data.get("alarms", ()))


def _facts(one: Mapping[str, Any]) -> list[str]:
    facts = {
        "Alarm": f"{one['alarm']} ({one['severity']}): {one['policy'].get('condition', '')}",
        "Now": one["explanation"],
        "Scheduled for": one["scheduledFor"],
        "Run": one["runId"],
        "Last success": one["lastSuccessAt"] or "never",
        "Fired at": one["firedAt"],
        "Resolved at": one["resolvedAt"],
    }
    return [f"{name}: {value}" for name, value in facts.items() if value is not None]


def text_of(message: Shown) -> str:
    """Return a message as plain text."""
    parts = [one.text("\n") + (f"\n{one.url}" if one.url else "") for one in message.parts]
    return "\n\n".join([message.title, *parts, *message.more])


def _slack(message: Shown) -> Json:
    blocks: list[Json] = [_section(f"*{escape(message.title, quote=False)}*")]
    for one in message.parts:
        blocks.append(_section(escape(one.text("\n"), quote=False)[:2800]))
        buttons: list[Json] = [
            {"type": "button", "text": {"type": "plain_text", "text": name}, "url": url}
            for name, url in one.links.items()
        ]
        blocks += [{"type": "actions", "elements": buttons}] if buttons else []
    blocks += map(_section, message.more)
    return {"text": escape(message.title, quote=False), "blocks": blocks}


def _section(text: str) -> Json:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def _teams(message: Shown) -> Json:
    texts = [*(one.text("\n\n") for one in message.parts), *message.more]
    body: list[Json] = [{"type": "TextBlock", "text": message.title, "weight": "Bolder", "wrap": True}]
    body += [{"type": "TextBlock", "text": one, "wrap": True} for one in texts]
    links: Mapping[str, str] = message.parts[0].links if message.parts else {}
    actions: list[Json] = [{"type": "Action.OpenUrl", "title": name, "url": url} for name, url in links.items()]
    card: Json = {"type": "AdaptiveCard", "version": "1.4", "body": body, "actions": actions}
    card["$schema"] = "http://adaptivecards.io/schemas/adaptive-card.json"
    attachment: Json = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return {"type": "message", "attachments": [attachment]}


def _alerts(delivery: Delivery) -> Json:
    """Return alerts as Alertmanager v2 takes them; a test is one that has ended already."""
    if delivery.event is DeliveryEvent.TEST:
        at, summary = time_text(delivery.created_at), {"summary": heading([], delivery.event)}
        labels = {"alertname": "CronographTest", "severity": "info", "source": "cronograph"}
        return [{"labels": labels, "annotations": summary, "startsAt": at, "endsAt": at}]
    return [_alert(one) for one in _notices(delivery)]


def _alert(one: Mapping[str, Any]) -> Json:
    subject = {one["subject"]["kind"]: one["subject"]["name"]}
    labels = {"alertname": one["alarm"], "severity": one["severity"], "condition": one["condition"]}
    alert: Json = {
        "labels": {**labels, "source": "cronograph", **subject},
        "annotations": {"summary": one["sentence"], "description": "\n".join(_facts(one))},
        "startsAt": one["firedAt"],
        "endsAt": one["resolvedAt"] or time_text(datetime.fromisoformat(one["firedAt"]) + NEVER),
    }
    return {**alert, "generatorURL": one["url"]} if one["url"] else alert


def mail_of(settings: Mapping[str, Any], delivery: Delivery) -> EmailMessage:
    """Return a delivery as a mail in two forms, plain and HTML, with an id that stays the same over all tries."""
    message = shown(delivery)
    mail = EmailMessage()
    mail["Subject"] = message.title[:200]
    mail["From"] = settings["sender"]
    mail["To"] = ", ".join(settings["recipients"])
    mail["Date"] = delivery.created_at
    mail["Message-ID"] = f"<{delivery.message_id}@{str(settings['sender']).rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail["X-Cronograph-Event"] = delivery.event.value
    mail.set_content(text_of(message))
    mail.add_alternative(_html(message), subtype="html")
    return mail


def _html(message: Shown) -> str:
    parts = [f"<h1 style='font-size:1.2em'>{escape(message.title)}</h1>"]
    for one in message.parts:
        facts = "".join(f"<li>{escape(fact)}</li>" for fact in one.facts)
        links = " · ".join(f"<a href='{escape(url)}'>{escape(name)}</a>" for name, url in one.links.items())
        parts.append(f"<p><b>{escape(one.sentence)}</b></p><ul>{facts}</ul>{links and f'<p>{links}</p>'}")
    return "".join([*parts, *(f"<p>{escape(more)}</p>" for more in message.more)])
