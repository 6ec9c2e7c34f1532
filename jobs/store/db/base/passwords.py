"""Addresses as they may be shown: without the passwords in them, however these were written."""

import re
from collections.abc import Iterator
from typing import Final, TypeAlias
from urllib.parse import unquote_plus

HIDDEN: Final = "***"
SHOWN: Final = frozenset((
    "application_name", "channel_binding", "client_encoding", "connect_timeout", "dbname",
    "fallback_application_name", "gssdelegation", "gssencmode", "gsslib", "host", "hostaddr", "keepalives",
    "keepalives_count", "keepalives_idle", "keepalives_interval", "krbsrvname", "load_balance_hosts",
    "max_protocol_version", "min_protocol_version", "options", "passfile", "pooler", "port", "replication",
    "require_auth", "requirepeer", "requiressl", "schema", "service", "servicefile", "ssl_max_protocol_version",
    "ssl_min_protocol_version", "sslcert", "sslcertmode", "sslcompression", "sslcrl", "sslcrldir", "sslkey",
    "sslmode", "sslnegotiation", "sslrootcert", "sslsni", "target_session_attrs", "tcp_user_timeout", "user",
))  # fmt: skip
"""Parameters whose values may be shown. Of any other, also of one that is misspelled, only the name is."""
SHORTEST: Final = 3
"""Characters: what is shorter is not looked for in other texts, of which it would take every letter."""
_Parts: TypeAlias = Iterator[tuple[str, bool]]
"""An address in pieces, and whether each must not be shown."""
_SCHEME: Final = re.compile(r"[A-Za-z][\w+.-]*(:/{1,3}|//)")
"""Also one that lacks a sign."""
_HOST: Final = r"(\[[^\]]*\]|[^:\[\],]*)(:\d*)?"
_HOSTS: Final = re.compile(f"{_HOST}(,{_HOST})*")
_KEYWORD: Final = re.compile(r"([A-Za-z_]\w*)\s*=\s*")
_VALUE: Final = re.compile(r"'(?:[^'\\]|\\.)*(?:'|\Z)|(?:[^\s\\]|\\.)*", re.DOTALL)
"""A value in a connection string: quoted, or up to a space."""


def without_password(text: str) -> str:
    """Return an address with ``***`` in the place of each password.

    Takes a URL or a connection string of libpq (``host=… password=…``). Passwords may be anywhere that libpq takes
    them. One with ``@``, ``/`` or ``?`` that are not written in percent is hidden whole, in doubt with what follows.
    """
    return "".join(HIDDEN if secret else part for part, secret in _parts(text) if part)


def hide_passwords(message: str, address: str) -> str:
    """Return what a driver says of an address, without the passwords in that, as they are written and as they are."""
    secrets = {one for part, secret in _parts(address) if secret for one in (part, unquote_plus(part), _unquoted(part))}
    for one in sorted(secrets, key=len, reverse=True):
        if len(one) >= SHORTEST:
            message = message.replace(one, HIDDEN)
    return message


def _parts(text: str) -> _Parts:
    found = _SCHEME.match(text)
    if found is None and _KEYWORD.match(text.lstrip()) is not None:
        yield from _parts_of_keywords(text)
        return
    head = "" if found is None else found[0]
    yield head, False
    rest = text[len(head) :]
    # A file has no users, and may have any name.
    place = 0 if head.startswith("sqlite") else _end_of_user(rest)
    name, colon, password = rest[:place].removesuffix("@").partition(":")
    yield f"{name}{colon}", False
    if password:
        yield password, True
    yield "@" * bool(place), False
    hosts, mark, query = rest[place:].partition("?")
    yield f"{hosts}{mark}", False
    yield from _parts_of_query(query)


def _end_of_user(rest: str) -> int:
    """Return how much of an address without its scheme is user and password, ``@`` included."""
    end = min((place for place in map(rest.find, "/?#") if place >= 0), default=len(rest))
    hosts = rest[:end].rpartition("@")[2]
    path, _, query = rest[end:].partition("?")
    # A password that was not encoded may hold each of the signs that would end it.
    before, at, _ = query.partition("@")
    if "@" in path or (at and ("=" not in before or _HOSTS.fullmatch(hosts) is None)):
        end = len(rest)
    return rest.rfind("@", 0, end) + 1


def _parts_of_query(query: str) -> _Parts:
    hides = False
    for number, part in enumerate(query.split("&")):
        name, equals, value = part.partition("=")
        if not equals and hides:
            # The rest of a password with "&" in it.
            yield f"&{part}", True
            continue
        hides = unquote_plus(name).lower() not in SHOWN and bool(equals)
        yield f"{'&' if number else ''}{name}{equals}", False
        yield value, hides


def _parts_of_keywords(text: str) -> _Parts:
    place = 0
    while (found := _KEYWORD.search(text, place)) is not None:
        value = _VALUE.match(text, found.end())
        end = found.end() if value is None else value.end()
        yield text[place : found.end()], False
        yield text[found.end() : end], found[1].lower() not in SHOWN
        place = end
    yield text[place:], False


def _unquoted(value: str) -> str:
    """Return the value in a connection string as it is meant."""
    return re.sub(r"\\(.)", r"\1", value[1:-1] if value[:1] == value[-1:] == "'" else value)
