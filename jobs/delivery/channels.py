"""Send deliveries: by HTTP to checked addresses, and by SMTP; the answer of the other side is kept."""

import asyncio
import logging
import re
import smtplib
import ssl
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from ..accounts.rules.secrets import signature_key
from ..base.outcomes import PermanentFailure
from ..builtin.address_guard import AddressGuard
from ..core.admission.labels import label_faults
from ..core.arguments.secrets import is_reference, reference_faults
from ..core.base.errors import InvalidInput, UserError
from ..core.base.lazy import LazyModule
from ..core.rules import name_faults, text_faults
from ..own.threads import in_own_thread
from .messages import body_of, mail_of, shown, signed_headers, text_of
from .rules import MOST_ROUTED, Channel, ChannelKind, Delivery, Route

if TYPE_CHECKING:
    from ..builtin import http_client
else:
    http_client = LazyModule(f"{__package__.rpartition('.')[0]}.builtin.http_client")

TIMEOUT: Final = 15.0
"""Seconds for each step of a connection."""
WHOLE: Final = 30.0
"""Seconds for a whole try."""
SHOWN_ANSWER: Final = 1_000
MAX_RECIPIENTS: Final = 50
MAX_URL: Final = 4_000
"""Each failed try of a message is a line in the log with the address."""
GONE: Final = 410


@dataclass(frozen=True, slots=True)
class Sent:
    """The outcome of one try.

    Attributes:
        error: The reason of a failure; None = the receiver accepted the message.
        status: The status of the answer, of HTTP or SMTP.
        answer: The beginning of the answer.
        is_final: Whether another try would not help.
        retry_after: The seconds for which the receiver asked.
    """

    error: str | None
    status: int | None = None
    answer: str | None = None
    is_final: bool = False
    retry_after: float | None = None


def channel_faults(channel: Channel) -> Iterator[UserError]:
    """Yield the faults of a channel."""
    yield from name_faults(channel.name, "name")
    settings = channel.settings
    yield from reference_faults({"settings": settings})
    if "url" in settings and channel.kind is not ChannelKind.APPRISE and not is_reference(settings["url"]):
        yield from _url_faults(channel.kind, settings["url"])
    for place, one in enumerate(settings.get("secrets", ())):
        if not is_reference(one):
            try:
                signature_key(one)
            except ValueError as error:
                yield InvalidInput(f"secrets: {error}", path=(channel.kind.value, "secrets", str(place)))
    route = Route.of(settings)
    if route is not None:
        yield from _route_faults(route)
    if channel.kind is ChannelKind.MAIL:
        yield from _mail_faults(settings)


def _route_faults(route: Route) -> Iterator[UserError]:
    if not (route.severities or route.groups or route.labels):
        yield InvalidInput("route: must have severities, groups or labels", path=("route",))
    yield from label_faults(route.labels, "route.labels")
    if len(route.groups) > MOST_ROUTED:
        yield InvalidInput(
            f"route.groups: must be at most {MOST_ROUTED}, got {len(route.groups)}", path=("route", "groups")
        )


def _url_faults(kind: ChannelKind, url: str) -> Iterator[InvalidInput]:
    if len(url) > MAX_URL:
        message = f"url: must have at most {MAX_URL:,} characters, got {len(url):,}"
        yield InvalidInput(message, path=(kind.value, "url"))
        return
    try:
        http_client.parse_url(url)
    except ValueError as error:
        yield InvalidInput(f"url: {error}", path=(kind.value, "url"))


def _mail_faults(settings: Mapping[str, Any]) -> Iterator[InvalidInput]:
    yield from text_faults(settings["host"], "host", least=1, most=253)
    if not 0 < settings["port"] < 65536:
        yield InvalidInput(f"port: must be from 1 to 65535, got {settings['port']}", path=("mail", "port"))
    if not 1 <= len(settings["recipients"]) <= MAX_RECIPIENTS:
        got = len(settings["recipients"])
        yield InvalidInput(f"recipients: must be 1 to {MAX_RECIPIENTS}, got {got}", path=("mail", "recipients"))
    for place, text in (("sender", settings["sender"]), *(("recipients", one) for one in settings["recipients"])):
        if _ADDRESS.fullmatch(text) is None:
            yield InvalidInput(
                f"{place}: must be a mail address such as ops@example.com, got {text[:80]!r}", path=("mail", place)
            )


_ATOM: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_ADDRESS: Final = re.compile(rf"{_ATOM}(\.{_ATOM})*@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")


async def send(
    channel: Channel,
    settings: Mapping[str, Any],
    delivery: Delivery,
    guard: AddressGuard,
    now: datetime,
    *,
    schemes: Collection[str] = (),
) -> Sent:
    """Send a delivery once.

    Args:
        settings: Its settings with the values of secrets.
        guard: Decides which addresses may be reached.
        now: The time, for the signature.
        schemes: The schemes of URLs that Apprise may get, which decides itself where it connects to.
    """
    try:
        async with asyncio.timeout(WHOLE):
            if channel.kind is ChannelKind.MAIL:
                return await _send_mail(settings, delivery, guard)
            if channel.kind is ChannelKind.APPRISE:
                return await _hand_to_apprise(str(settings["url"]), delivery, schemes)
            return await _post(channel.kind, settings, delivery, guard, now)
    except TimeoutError:
        return Sent(f"no answer within {WHOLE:g} s")
    except PermanentFailure as error:
        return Sent(str(error), is_final=True)
    except OSError as error:
        return Sent(f"{type(error).__name__}: {error}")


async def _post(
    kind: ChannelKind, settings: Mapping[str, Any], delivery: Delivery, guard: AddressGuard, now: datetime
) -> Sent:
    body = body_of(kind, settings, delivery)
    headers = {"content-type": "application/json", "user-agent": http_client.USER_AGENT}
    try:
        url = http_client.parse_url(settings["url"])
        if kind is ChannelKind.WEBHOOK:
            headers |= signed_headers(settings["secrets"], delivery.message_id, now, body)
    except ValueError as error:
        # Only values of secrets are not judged before.
        return Sent(str(error), is_final=True)
    if kind is ChannelKind.ALERTMANAGER:
        url = url.copy_with(path=f"{url.path.rstrip('/')}/api/v2/alerts")
    request = http_client.HttpRequest("POST", url, headers, body, follow_redirects=False, timeout=TIMEOUT)
    try:
        answer = await http_client.send(request, guard)
    except http_client.HttpFailedError as error:
        return Sent(str(error))
    text = answer.text[:SHOWN_ANSWER].replace("\0", "")
    if 200 <= answer.status < 300:
        return Sent(None, answer.status, text)
    after = answer.headers.get("retry-after", "")
    return Sent(
        f"the receiver answered {answer.status}",
        answer.status,
        text,
        is_final=answer.status == GONE,
        retry_after=float(after) if after.isascii() and after.isdigit() and len(after) < 7 else None,
    )


async def _send_mail(settings: Mapping[str, Any], delivery: Delivery, guard: AddressGuard) -> Sent:
    host, port = settings["host"], settings["port"]
    addresses = await guard.addresses(host, port)
    try:
        status, text = await in_own_thread(_submit, settings, str(addresses[0]), mail_of(settings, delivery))
    except smtplib.SMTPRecipientsRefused as error:
        return _refused(*next(iter(error.recipients.values())))
    except smtplib.SMTPResponseException as error:
        return _refused(error.smtp_code, error.smtp_error)
    except smtplib.SMTPException as error:
        return Sent(f"{type(error).__name__}: {error}")
    return Sent(None, status, text)


async def _hand_to_apprise(url: str, delivery: Delivery, schemes: Collection[str]) -> Sent:
    scheme = url.partition("://")[0].lower()
    if scheme not in schemes:
        return Sent(f"the scheme '{scheme[:40]}' is not in the setting 'apprise_schemes' of the node")
    if find_spec("apprise") is None:
        return Sent("needs Apprise; install it by pip install 'cronograph[apprise]'")
    message = shown(delivery)
    return await in_own_thread(_by_apprise, url, message.title, f"{text_of(message)}\n\n{delivery.message_id}")


def _by_apprise(url: str, title: str, text: str) -> Sent:
    """Send a message by the library, which has no types; its log says why it could not, without passwords."""
    apprise: Any = import_module("apprise")
    known = apprise.Apprise(asset=apprise.AppriseAsset(secure_logging=True))
    with apprise.LogCapture(level=logging.WARNING) as said:
        if not known.add(url):
            return Sent("Apprise does not take the URL", is_final=True)
        if known.notify(title=title, body=text):
            return Sent(None, answer="accepted")
        return Sent("Apprise could not send it", answer=str(said.getvalue())[:SHOWN_ANSWER])


def _refused(code: int, said: bytes | str) -> Sent:
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    # Mailboxes that are full and servers out of room are tried again: 452 and 552 pass.
    return Sent(f"the mail server answered {code}", code, text[:SHOWN_ANSWER])


def _submit(settings: Mapping[str, Any], address: str, mail: EmailMessage) -> tuple[int, str]:
    """Hand a mail to the server at a checked address; the certificate has to be of the host's name."""
    context = ssl.create_default_context()
    name, port, tls = settings["host"], settings["port"], settings["tls"]
    made = smtplib.SMTP_SSL(context=context, timeout=TIMEOUT) if tls == "implicit" else smtplib.SMTP(timeout=TIMEOUT)
    # The name that the certificate is checked against; the connection goes to the address that was checked.
    vars(made)["_host"] = name
    try:
        code, said = made.connect(address, port)
        if code != 220:
            raise smtplib.SMTPConnectError(code, said)
        if tls == "starttls":
            made.starttls(context=context)
        if settings.get("username"):
            made.login(settings["username"], settings["password"])
        refused: Mapping[str, tuple[int, bytes]] = made.send_message(mail)
        made.quit()
    finally:
        made.close()
    return 250, _all_taken(list(refused))


def _all_taken(refused: Sequence[str]) -> str:
    return "accepted" if not refused else f"accepted, but not for {', '.join(refused)}"
