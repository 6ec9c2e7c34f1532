"""The address of a database: how it is read and written, and where its password comes from."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import unquote_plus

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from ...core.base.errors import ConfigurationError
from ..schema.types import SCHEMA, SQLITE_SCHEMA, schema_fault

HIDDEN: Final = "***"
SHOWN: Final = frozenset((
    "application_name", "channel_binding", "client_encoding", "connect_timeout", "dbname",
    "fallback_application_name", "gssdelegation", "gssencmode", "gsslib", "host", "hostaddr", "keepalives",
    "keepalives_count", "keepalives_idle", "keepalives_interval", "krbsrvname", "load_balance_hosts",
    "max_protocol_version", "min_protocol_version", "passfile", "pooler", "port", "replication",
    "require_auth", "requirepeer", "requiressl", "schema", "service", "servicefile", "ssl_max_protocol_version",
    "ssl_min_protocol_version", "sslcert", "sslcertmode", "sslcompression", "sslcrl", "sslcrldir", "sslkey",
    "sslmode", "sslnegotiation", "sslrootcert", "sslsni", "target_session_attrs", "tcp_user_timeout", "user",
))  # fmt: skip
"""Parameters whose values may be shown. Of any other, also of one that is misspelled, only the name is."""
SHORTEST: Final = 3
"""Characters: a shorter one is not looked for in other texts, of which it would take every letter."""
_Parts: TypeAlias = Iterator[tuple[str, bool]]
"""An address in pieces, and whether each must not be shown."""
_SCHEME: Final = re.compile(r"[A-Za-z][\w+.-]*(:/{1,3}|//)")
"""Also one that lacks a sign."""
_HOST: Final = r"(\[[^\]]*\]|[^:\[\],]*)(:\d*)?"
_HOSTS: Final = re.compile(f"{_HOST}(,{_HOST})*")
_KEYWORD: Final = re.compile(r"([A-Za-z_]\w*)\s*=\s*")
_OPTIONS: Final = re.compile(r"(?:\s*(?:-c\s*|--)[A-Za-z_][\w-]*=[^\s\\]*)*\s*")
"""Settings of a session, of which none has a dot: those of PostgreSQL itself hold no secret, those of others may."""
_PARAMETERS: Final = re.compile(r"([?&;])")
"""Some systems write ";" between parameters; an address that was taken from there shows no password either."""
_FILE_PARAMETERS: Final = re.compile(r"(\?)")
_VALUE: Final = re.compile(r"'(?:[^'\\]|\\.)*(?:'|\Z)|(?:[^\s\\]|\\.)*", re.DOTALL)
"""A value in a connection string: quoted, or up to a space."""


def without_password(text: str) -> str:
    """Return an address with ``***`` in the place of each password.

    Takes a URL or a connection string of libpq (``host=… password=…``). Passwords may be anywhere that libpq takes
    them. One with ``@``, ``/`` or ``?`` that are not written in percent is hidden whole, in doubt with the text after
    it.
    """
    return "".join(HIDDEN if secret else part for part, secret in _parts(text) if part)


def hide_passwords(message: str, address: str) -> str:
    """Return a driver's message about an address, without its passwords, escaped or not."""
    whole = {one for part, secret in _parts(address) if secret for one in (part, unquote_plus(part), _unquoted(part))}
    # A driver names the value of one setting in `options`.
    secrets = whole | {value for one in whole for value in re.findall(r"=(\S+)", one)}
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
    is_file = head.startswith("sqlite") and head.endswith("///")
    place = 0 if is_file else _end_of_user(rest)
    name, colon, password = rest[:place].removesuffix("@").partition(":")
    yield f"{name}{colon}", False
    if password:
        yield password, True
    yield "@" * bool(place), False
    hosts, *query = (_FILE_PARAMETERS if is_file else _PARAMETERS).split(rest[place:])
    yield hosts, False
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


def _parts_of_query(query: list[str]) -> _Parts:
    hides = False
    for sign, part in zip(query[::2], query[1::2], strict=True):
        name, equals, value = part.partition("=")
        if not equals and hides:
            # The rest of a password with this sign in it.
            yield f"{sign}{part}", True
            continue
        hides = bool(equals) and not _is_shown(unquote_plus(name).lower(), unquote_plus(value))
        yield f"{sign}{name}{equals}", False
        yield value, hides


def _is_shown(name: str, value: str) -> bool:
    return name in SHOWN or (name == "options" and _OPTIONS.fullmatch(value) is not None)


def _parts_of_keywords(text: str) -> _Parts:
    place = 0
    while (found := _KEYWORD.search(text, place)) is not None:
        value = _VALUE.match(text, found.end())
        end = found.end() if value is None else value.end()
        yield text[place : found.end()], False
        yield text[found.end() : end], not _is_shown(found[1].lower(), _unquoted(text[found.end() : end]))
        place = end
    yield text[place:], False


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1] if value[:1] == value[-1:] == "'" else value)


KEEPALIVES = {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3"}
"""Seconds: a peer that vanished without a word is noticed within a minute, on connections that only wait, too."""


OWNER_ONLY = 0o600
"""The mode of every file with a database's contents; SQLite gives its log and its index the same."""


_SEVERAL: Final = re.compile(
    r"(postgres[\w+]*://(?:[^/?#]*@)?)([^/?#@]*:\d[^/?#@]*,[^/?#@]+|[^/?#@]+,[^/?#@]*:\d[^/?#@]*)(/[^?#]*)?(.*)"
)


def _several_hosts(text: str) -> str:
    """Return an address of libpq with several hosts and ports as SQLAlchemy writes it: ``?host=a:5432&host=b``."""
    found = _SEVERAL.fullmatch(text)
    if found is None:
        return text
    head, hosts, path, query = found.groups()
    named = "&".join(f"host={host}" for host in hosts.split(","))
    return f"{head}{path or '/'}{query or '?'}{'&' if len(query) > 1 else ''}{named}"


SERVER_FORM: Final = "postgresql://user@host/name"


def parse_url(text: object, forms: str = f"sqlite:///relative.db, sqlite:////absolute.db or {SERVER_FORM}") -> URL:
    """Return the SQLAlchemy URL behind ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or ``postgresql://…``.

    Args:
        forms: Those that the message about another form names.

    Raises:
        ConfigurationError: any other form.
    """
    try:
        url = make_url(_several_hosts(text)) if isinstance(text, str) else None
    except (ArgumentError, ValueError):
        # A port that is no number is a ValueError of its own.
        url = None
    backend = url.get_backend_name() if url is not None else None
    is_foreign = backend == "sqlite" and url is not None and bool(url.host or url.username)
    if url is None or is_foreign or backend not in ("sqlite", "postgresql", "postgres"):
        got = without_password(text)[:120] if isinstance(text, str) else text
        raise ConfigurationError(f"database URL: must be {forms}, got {got!r:.130}")
    if backend == "sqlite":
        if not url.database or url.database == ":memory:":
            raise ConfigurationError(
                "database URL: SQLite needs a file, e.g. sqlite:///cronograph.db; memory is lost at exit"
            )
        if "?" in str(text):
            # Parameters would be ignored, or open another file than the one that is locked.
            raise ConfigurationError(
                "database URL: a SQLite file takes no parameters after a '?'; write a '?' of its name as %3F"
            )
        return url.set(drivername="sqlite")
    if url.port is not None and not 1 <= url.port <= 65_535:
        raise ConfigurationError(
            f"database URL: the port must be from 1 to 65535, got {url.port} in {without_password(str(text))[:120]!r}"
        )
    if "@" in (url.host or ""):
        raise ConfigurationError(
            "database URL: a host has no '@'; write each '@' of the user and of the password as %40, got "
            f"{without_password(str(text))[:120]!r}"
        )
    is_pooled(url)
    fault = schema_fault(schema_in(url))
    if fault is not None:
        raise ConfigurationError(f"database URL: schema {fault}")
    return url.set(drivername="postgresql+psycopg")


def sqlite_path(url: URL) -> Path:
    """Return the file behind a SQLite URL."""
    return Path(url.database or "").absolute()


def address_of_file(path: Path) -> str:
    """Return the address of a SQLite file; its name may have any sign that an address would read as another."""
    return URL.create("sqlite", database=str(path.absolute())).render_as_string()


def is_pooled(url: URL) -> bool:
    """Return whether a pooler stands between, which gives each transaction another connection: ``?pooler=transaction``.

    Options of a connection do not hold there: prepared statements, settings, ``LISTEN``.

    Raises:
        ConfigurationError: another kind of pooler.
    """
    kind = url.query.get("pooler")
    if kind not in (None, "transaction"):
        raise ConfigurationError(f"database URL: pooler must be 'transaction' or left out, got {kind!r:.60}")
    return kind is not None


def schema_in(url: URL) -> str:
    """Return the schema of the tables: the value of ``?schema=``, else ``cronograph``; ``main`` in a SQLite file."""
    if is_sqlite(url):
        return SQLITE_SCHEMA
    chosen = url.query.get("schema", SCHEMA)
    return chosen if isinstance(chosen, str) else chosen[-1]


def with_schema(text: str, schema: str) -> str:
    """Return a database URL that says which schema holds the tables; that of a SQLite file, which has none, as it is.

    Raises:
        ConfigurationError: the URL is of no form that is known, or names another schema.
    """
    url = parse_url(text)
    named = schema_in(url)
    if is_sqlite(url) or named == schema:
        return text
    fault = schema_fault(schema)
    if fault is not None:
        raise ConfigurationError(f"database URL: schema {fault}")
    if "schema" in url.query:
        raise ConfigurationError(f"database URL: must name the schema '{schema}' or none, got '{named}'")
    return make_url(text).update_query_dict({"schema": schema}).render_as_string(hide_password=False)


def for_drivers(url: URL) -> URL:
    """Return the address as the drivers take it, without our own options."""
    return url.difference_update_query(["pooler", "schema"])


def is_sqlite(url: URL) -> bool:
    """Return whether the database is a SQLite file (one process), not PostgreSQL (many nodes)."""
    return url.get_backend_name() == "sqlite"


def libpq_url(url: URL) -> str:
    """Return the address of a PostgreSQL database for a plain psycopg connection."""
    plain = for_drivers(url.set(drivername="postgresql", query={**KEEPALIVES, **url.query}))
    place, _, query = plain.render_as_string(hide_password=False).partition("?")
    # SQLAlchemy writes a blank as ``+``, which libpq takes for what it is.
    return f"{place}?{query.replace('+', '%20')}"


def shown_url(url: URL) -> str:
    """Return the address of a PostgreSQL database as its own programs take it, without the password."""
    plain = for_drivers(url.set(drivername="postgresql")).difference_update_query(["password"])
    return plain.set(password=None).render_as_string()


def password_of(url: URL) -> str | None:
    """Return the password in an address: as a parameter, or that of the user."""
    given = url.query.get("password", url.password)
    return None if given is None else str(given)
