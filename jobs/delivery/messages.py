"""The messages of each kind of channel, made of the payload of a delivery. No input or output."""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from email.message import EmailMessage
from html import escape
from typing import Any, Final, cast

from ..base.services import Result
from ..core.base.times import time_text
from ..core.model import Json
from .rules import ChannelKind, Delivery, DeliveryEvent, heading

SHOWN: Final = 10
"""Alarms that a chat message or a mail shows in full."""
SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the beginning of every one
NEVER: Final = timedelta(days=365)
"""Alertmanager ends an alarm by itself after five minutes unless it is given a time: it ends when we say so."""


def signature_key(secret: str) -> bytes:
    """Return the key of a webhook's secret, ``whsec_`` and base64.

    Raises:
        ValueError: it is none, or shorter than 16 bytes.
    """
    try:
        found = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error:
        found = b""
    if len(found) < 16:
        raise ValueError("the secret of a webhook must be 'whsec_' and at least 16 bytes in base64")
    return found


def signed_headers(secrets: Sequence[str], message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """Return the headers of Standard Webhooks; with several secrets each signs, without one none does."""
    stamp = str(int(at.timestamp()))
    content = b".".join([message_id.encode(), stamp.encode(), body])
    signatures = (hmac.new(signature_key(one), content, hashlib.sha256).digest() for one in secrets)
    texts = [f"v1,{base64.b64encode(one).decode()}" for one in signatures]
    headers = {"webhook-id": message_id, "webhook-timestamp": stamp}
    return {**headers, "webhook-signature": " ".join(texts)} if texts else headers


def results_of(webhook: str, results: Sequence[Result], now: datetime) -> dict[str, Json]:
    """Return the body of a message of a webhook; one without results is a test."""
    answers: list[Json] = [
        {"cursor": str(one.event.cursor), "at": time_text(one.event.at), **one.answer} for one in results
    ]
    return {
        "type": "subscription.events" if results else "subscription.test",
        "timestamp": time_text(now),
        "data": {"webhook": webhook, "cursor": answers[-1]["cursor"] if results else None, "events": answers},
    }


def body_of(kind: ChannelKind, settings: Mapping[str, Json], delivery: Delivery) -> bytes:
    """Return the JSON body of a delivery, always the same for the same delivery."""
    document: Json = delivery.payload
    if kind is ChannelKind.CHAT:
        document = _teams(delivery) if settings.get("form") == "teams" else _slack(delivery)
    elif kind is ChannelKind.ALERTMANAGER:
        document = _alerts(delivery)
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def notices_of(delivery: Delivery) -> list[dict[str, Any]]:
    """Return the alarms of a delivery as they were recorded."""
    data = cast("Mapping[str, Any]", delivery.payload["data"])
    return list(data["alarms"])


def _lines(one: Mapping[str, Any]) -> list[str]:
    """Return the facts about one alarm, a line each, without its link."""
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


def _links(one: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the links of a notice, which an older message lacks."""
    return list(one.get("links", {}).items())


def _more(notices: Sequence[object]) -> str | None:
    return f"and {len(notices) - SHOWN} more" if len(notices) > SHOWN else None


def text_of(delivery: Delivery) -> str:
    """Return a delivery as plain text."""
    notices = notices_of(delivery)
    parts = [heading(notices, delivery.event)]
    for one in notices[:SHOWN]:
        link = [one["url"]] if one["url"] else []
        parts.append("\n".join([one["sentence"], *_lines(one), *link]))
    more = _more(notices)
    return "\n\n".join(parts if more is None else [*parts, more])


def _slack(delivery: Delivery) -> Json:
    notices = notices_of(delivery)
    title = heading(notices, delivery.event)
    blocks: list[Json] = [{"type": "section", "text": {"type": "mrkdwn", "text": f"*{_slack_text(title)}*"}}]
    for one in notices[:SHOWN]:
        text = "\n".join(map(_slack_text, [one["sentence"], *_lines(one)]))
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": text[:2800]}})
        buttons: list[Json] = [
            {"type": "button", "text": {"type": "plain_text", "text": name}, "url": url} for name, url in _links(one)
        ]
        if buttons:
            blocks.append({"type": "actions", "elements": buttons})
    more = _more(notices)
    if more is not None:
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": more}})
    return {"text": _slack_text(title), "blocks": blocks}


def _slack_text(text: str) -> str:
    return escape(text, quote=False)


def _teams(delivery: Delivery) -> Json:
    notices = notices_of(delivery)
    body: list[Json] = [
        {"type": "TextBlock", "text": heading(notices, delivery.event), "weight": "Bolder", "wrap": True}
    ]
    for one in notices[:SHOWN]:
        text = "\n\n".join([one["sentence"], *_lines(one)])
        body.append({"type": "TextBlock", "text": text, "wrap": True})
    more = _more(notices)
    if more is not None:
        body.append({"type": "TextBlock", "text": more})
    links = _links(notices[0]) if notices else []
    actions: list[Json] = [{"type": "Action.OpenUrl", "title": name, "url": url} for name, url in links]
    card: Json = {"type": "AdaptiveCard", "version": "1.4", "body": body, "actions": actions}
    card["$schema"] = "http://adaptivecards.io/schemas/adaptive-card.json"
    attachment: Json = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return {"type": "message", "attachments": [attachment]}


def _alerts(delivery: Delivery) -> Json:
    """Return alerts as Alertmanager v2 takes them; a test is one that has ended already."""
    if delivery.event is DeliveryEvent.TEST:
        at = time_text(delivery.created_at)
        labels = {"alertname": "CronographTest", "severity": "info", "source": "cronograph"}
        return [
            {"labels": labels, "annotations": {"summary": heading([], delivery.event)}, "startsAt": at, "endsAt": at}
        ]
    return [_alert(one) for one in notices_of(delivery)]


def _alert(one: Mapping[str, Any]) -> Json:
    ends = one["resolvedAt"] or time_text(datetime.fromisoformat(one["firedAt"]) + NEVER)
    labels = {
        "alertname": one["alarm"],
        "severity": one["severity"],
        "condition": one["condition"],
        "source": "cronograph",
        one["subject"]["kind"]: one["subject"]["name"],
    }
    alert: Json = {
        "labels": labels,
        "annotations": {"summary": one["sentence"], "description": "\n".join(_lines(one))},
        "startsAt": one["firedAt"],
        "endsAt": ends,
    }
    return {**alert, "generatorURL": one["url"]} if one["url"] else alert


def mail_of(settings: Mapping[str, Any], delivery: Delivery) -> EmailMessage:
    """Return a delivery as a mail in two forms, plain and HTML, with an id that stays the same over all tries."""
    title, text = heading(notices_of(delivery), delivery.event), text_of(delivery)
    domain = str(settings["sender"]).rpartition("@")[2]
    mail = EmailMessage()
    mail["Subject"] = " ".join(title.split())[:200]
    mail["From"] = settings["sender"]
    mail["To"] = ", ".join(settings["recipients"])
    mail["Date"] = delivery.created_at
    mail["Message-ID"] = f"<{delivery.message_id}@{domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail["X-Cronograph-Event"] = delivery.event.value
    mail.set_content(text)
    mail.add_alternative(_html(delivery), subtype="html")
    return mail


def _html(delivery: Delivery) -> str:
    notices = notices_of(delivery)
    parts = [f"<h1 style='font-size:1.2em'>{escape(heading(notices, delivery.event))}</h1>"]
    for one in notices[:SHOWN]:
        lines = "".join(f"<li>{escape(line)}</li>" for line in _lines(one))
        anchors = [f"<a href='{escape(url)}'>{escape(name)}</a>" for name, url in _links(one)]
        link = f"<p>{' · '.join(anchors)}</p>" if anchors else ""
        parts.append(f"<p><b>{escape(one['sentence'])}</b></p><ul>{lines}</ul>{link}")
    more = _more(notices)
    return "".join(parts if more is None else [*parts, f"<p>{escape(more)}</p>"])
