"""Every setting of a Cronograph process: its name, default, unit, and the form of its value.

The environment variable of a setting is ``CRONOGRAPH_`` and its name in capitals, its key in ``cronograph.toml`` is the
name itself, its flag (where a command has one) is ``--`` and the name with dashes. ``config`` reads and checks them.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, cast
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict
from typing_extensions import override

from ...jobs.accounts.rules.secrets import parse_keys
from ...jobs.core.actor import Role
from ...jobs.core.base.errors import ConfigurationError
from ...jobs.core.base.resources import EXECUTOR_NAME
from ...jobs.core.schedule import ScheduleError, parse_duration
from ...jobs.store.schema.types import schema_fault

LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
ExecutorName = Annotated[str, StringConstraints(pattern=rf"^{EXECUTOR_NAME.pattern}$")]
ProviderKey = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,29}$")]


def _https(text: str) -> str:
    parts = urlsplit(text)
    safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
    if not safe or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError("must be an https:// address without query, exactly as the provider calls itself")
    return text


class ProviderSettings(BaseModel):
    """The address of a provider, and the rights of its people here.

    Attributes:
        name: The text of the button.
        issuer: The provider's own name, an address; its metadata is found below.
        client_id: The name of this server at the provider.
        client_secret: The secret that goes with it; None = a public client, by PKCE alone.
        client_secret_file: A file that holds it.
        scopes: The scopes to ask for.
        name_claim: The claim that names new accounts.
        role_claim: The claim that ``roles`` looks at, with dots for nested members.
        roles: For each role the values of that claim which give it; ``*`` = any. Without it the provider gives
            no roles: new accounts are viewers.
        sign_up: Whether an account is made for whom none is known.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(min_length=1, max_length=60)]
    issuer: Annotated[str, Field(max_length=400), AfterValidator(_https)]
    client_id: Annotated[str, Field(min_length=1, max_length=400)]
    client_secret: SecretStr | None = None
    client_secret_file: Path | None = None
    scopes: tuple[str, ...] = ("openid", "profile")
    name_claim: str = "preferred_username"
    role_claim: str = "groups"
    roles: dict[Role, tuple[str, ...]] = {}
    sign_up: bool = False

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.client_secret is not None and self.client_secret_file is not None:
            raise ValueError("client_secret and client_secret_file: must not be set both")
        if "openid" not in self.scopes:
            raise ValueError("scopes: must have openid among them")
        return self

    def secret(self) -> str | None:
        """Return the secret by which this server proves itself; None = none.

        Raises:
            OSError: its file cannot be read.
        """
        if self.client_secret_file is not None:
            return self.client_secret_file.read_text().strip()
        return None if self.client_secret is None else self.client_secret.get_secret_value()


def from_text(value: object) -> object:
    """Return a table as a variable holds it, in JSON.

    Raises:
        ValueError: it is no JSON; the message leaves the value out, as it has secrets.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError("must be a JSON object") from None


ENV_PREFIX = "CRONOGRAPH_"


@dataclass(frozen=True, slots=True)
class MustBe:
    """Say in words the values that a setting may have; error messages quote it."""

    words: str


def _split(value: object) -> object:
    """Return a list written as one string, separated by commas or blanks, or as several such strings."""
    if isinstance(value, list | tuple):
        several = cast("Iterable[Any]", value)
        return [part for one in several for part in (_parts(one) if isinstance(one, str) else [one])]
    return _parts(value) if isinstance(value, str) else value


def _parts(text: str) -> list[str]:
    parts = re.split(r"\s*,\s*|\s+", text.strip())
    if any(parts) and not all(parts):
        raise ValueError("an item is empty")
    return [part for part in parts if part]


def _names(value: object) -> object:
    """Split a list of names, which may hold blanks: one string, separated by commas, or several of them."""
    if isinstance(value, str):
        parts = [part.strip() for part in value.split(",")]
        if any(parts) and not all(parts):
            raise ValueError("an item is empty")
        return [part for part in parts if part]
    if isinstance(value, list | tuple):
        several = cast("Iterable[Any]", value)
        return [part for one in several for part in cast("list[Any]", _names(one) if isinstance(one, str) else [one])]
    return value


def _checked_keys(value: SecretStr | None) -> SecretStr | None:
    """Check that the keys can be read.

    Raises:
        ValueError: they cannot; pydantic makes it a fault of the setting.
    """
    if value is not None:
        try:
            parse_keys(value.get_secret_value())
        except ConfigurationError as error:
            raise ValueError(str(error)) from None
    return value


def _checked_schema(value: str | None) -> str | None:
    if value is not None and schema_fault(value) is not None:
        raise ValueError(schema_fault(value))
    return value


def _in_seconds(value: object) -> object:
    """Return the seconds of a text such as ``5m``; others judge texts that are none."""
    try:
        return parse_duration(value) if isinstance(value, str) else value
    except ScheduleError:
        return value


SECRET = frozenset({"secret_key"})
"""Settings whose values are never shown, not even wrong ones."""

AsSeconds = BeforeValidator(_in_seconds)
Seconds = Annotated[
    float, AsSeconds, Field(gt=0, le=86_400), MustBe("a number of seconds above 0, up to 86400 (a day)")
]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_names), MustBe("a list of names, separated by commas")]


class Settings(BaseSettings):
    """The settings in force, validated one by one; ``config.check`` judges how they go together.

    Attributes:
        host: The name or address to listen on. Outside of loopback it needs TLS and a name.
        port: The TCP port; 0 = any free one, which is then printed.
        database_url: ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or ``postgresql://…``; once loaded it says
            which schema holds the tables.
        database_schema: That schema of a PostgreSQL database; unset = as the address says, or ``cronograph``.
        read_database_url: A standby of that PostgreSQL server, which answers queries; once loaded with the same schema.
        jobs: Modules to import jobs from, besides the entry points of the group ``cronograph.jobs``.
        node_name: Name of this process among the nodes; unset = a random readable one.
        tasks: A file of tasks, or a folder of them, that is applied at the start and at SIGHUP.
        brand: The name at the head of the pages on which people without an account answer.
        public_url: The address that people use, when it is not that of the host and port.
        tls_cert: Certificate chain in PEM form; with it this process speaks TLS.
        tls_key: Its private key.
        trusted_proxies: Addresses and networks of proxies whose ``X-Forwarded-*`` headers are believed.
        setup_public: Let a server without an administrator be reached from elsewhere.
        no_auth: Serve without sign-in, for trials; loopback only.
        slots: How many runs this node works on at once.
        thread_slots: How many of these may be runs in threads.
        process_slots: How many of these may be runs in child processes; unset = one for each processor core.
        preload: Import the modules of process jobs before child processes are forked, unless a job says otherwise.
        prefetch: Runs claimed beyond the free slots; 0 unless set.
        counting_scheme: Of how many runs of priority HIGH, then of LOW, a group's turn is made.
        groups: Take only runs of these groups; empty = of all.
        only_jobs: Take only runs of these jobs; empty = of all that were found.
        tags: Take only runs of jobs that carry one of these tags; empty = of any.
        without_tags: Take no run of a job that carries one of these tags.
        remote_slots: How many runs this node hands to engines at once, besides its slots.
        remote_lease: Seconds without a word of the code of such a run, and of its engine, after which it is lost.
        remote_poll: Seconds between two looks at the state of runs at their engines.
        remote_url: The address by which that code reaches a server; unset = the one that people use.
        executors: The settings of executors, by the name that a job's ``isolation`` says.
        heartbeat: Seconds between two signs of life of this node.
        lease: Seconds without a sign of life after which other nodes take over this node's runs.
        poll: Seconds between two looks at the queue when no notification comes; unset = 1 on SQLite, 5 on PostgreSQL.
        drain_timeout: Seconds that running jobs have to finish at a stop before they are asked to; 0 = wait for all.
        hard_stop_grace: Seconds between asking a job to stop and cancelling it hard.
        version_wait: Seconds for which a run waits for a node whose version of its job can read its arguments.
        code_version: The version of the code, e.g. the commit: runs that wait stay with it while a node has it. Of jobs
            that say none themselves.
        thread_logs: Keep also the log of threads that a job starts itself; changes ``threading`` for the whole process.
        print_logs: Keep the printed lines of jobs with their executions, besides writing them as before.
        http_allow: Targets of the job ``http_request`` besides public addresses: addresses, networks, names, ``*``.
        apprise_schemes: The schemes of URLs, e.g. ``tgram``, that channels of the kind apprise may have.
        archive_url: Where history goes before it is deleted: an absolute path, or ``s3://bucket/prefix``; ``off`` =
            nowhere from now on. The same for all nodes.
        shell: Bring the job ``shell`` along, which runs commands of the operating system as this process' user.
        oidc: Providers of identities (OpenID Connect) by whom people may sign in, by a short name of each.
        trusted_documents: ``prefer`` = any GraphQL document may run, ``only`` = those of the dashboard, the command
            line and the Python client alone.
        allowed_documents: A JSON file of further trusted documents by SHA-256; to set it means ``only``.
        secret_key: The keys that secrets are encrypted with, in base64, the newest first; never shown.
        secret_key_file: A file that holds them; with SQLite one next to the database, made at need, unless given.
        metrics: Who may read ``/metrics``: ``open`` = everybody who reaches the port, ``token`` = who shows a token,
            ``off`` = nobody, ``auto`` = open where only this machine reaches the server, else token.
        metrics_host: Where ``metrics_port`` listens.
        metrics_port: A port of their own for ``/metrics`` and ``/health/*``, without sign-in; 0 = any free one.
        traces: Trace runs and operations by OpenTelemetry: ``child`` = attempts are a part of the trace that put their
            run into the queue, ``link`` = each has one of its own, ``auto`` = the first one is if it starts within a
            minute, ``off`` = nothing is traced.
        trace_link: Where a person finds the trace of an attempt, with ``{run}``, ``{attempt}``, ``{execution}``,
            ``{trace}`` and ``{job}`` in it.
        trace_logs: Send the log lines of jobs as well, as OTLP logs; with ``traces`` only.
        log_format: ``human``, ``json``, or ``auto`` = human on a terminal, else JSON.
        log_level: The least severe log line that is written.
    """

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, env_ignore_empty=True, extra="ignore", frozen=True)

    host: Annotated[str, Field(min_length=1), MustBe("a host name or address")] = "localhost"
    port: Annotated[int, Field(ge=0, le=65_535), MustBe("a whole number from 0 (any free port) to 65535")] = 8000
    database_url: Annotated[str, MustBe("the URL of a database")] = "sqlite:///cronograph.db"
    database_schema: Annotated[
        str | None, AfterValidator(_checked_schema), MustBe("a name of small letters, digits and _, no word of SQL")
    ] = None
    read_database_url: Annotated[str | None, MustBe("the URL of a standby of the PostgreSQL server")] = None
    jobs: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split), MustBe("a list of modules, e.g. my.jobs")] = ()
    node_name: Annotated[
        str | None,
        Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"),
        MustBe("1 to 100 letters, digits, dots, dashes and underscores, the first of them a letter or digit"),
    ] = None
    tasks: Annotated[Path | None, MustBe("a file of tasks, or a folder of them")] = None
    brand: Annotated[str, Field(min_length=1, max_length=60), MustBe("1 to 60 characters")] = "Cronograph"
    public_url: Annotated[str | None, MustBe("an address such as https://cron.example.com")] = None
    tls_cert: Annotated[Path | None, MustBe("a certificate file in PEM form")] = None
    tls_key: Annotated[Path | None, MustBe("a key file in PEM form")] = None
    trusted_proxies: Annotated[
        tuple[str, ...],
        NoDecode,
        BeforeValidator(_split),
        MustBe("a list of addresses or networks such as 10.1.0.0/16"),
    ] = ()
    setup_public: Annotated[bool, MustBe("true or false")] = False
    no_auth: Annotated[bool, MustBe("true or false")] = False
    slots: Annotated[int, Field(ge=1, le=10_000), MustBe("a whole number from 1 to 10000")] = 1500
    thread_slots: Annotated[int, Field(ge=1, le=10_000), MustBe("a whole number from 1 to 10000")] = 20
    process_slots: Annotated[int | None, Field(ge=1, le=1_000), MustBe("a whole number from 1 to 1000")] = None
    preload: Annotated[bool, MustBe("true or false")] = False
    prefetch: Annotated[int, Field(ge=0, le=10_000), MustBe("a whole number from 0 to 10000")] = 0
    counting_scheme: Annotated[
        str,
        Field(pattern=r"^\s*[1-9]\d{0,3}\s*,\s*[1-9]\d{0,3}\s*$"),
        MustBe("two whole numbers from 1 to 9999 such as 2,1 (two HIGH, then one LOW)"),
    ] = "2,1"
    groups: Names = ()
    only_jobs: Names = ()
    tags: Names = ()
    without_tags: Names = ()
    remote_slots: Annotated[int, Field(ge=1, le=10_000), MustBe("a whole number from 1 to 10000")] = 1000
    remote_lease: Seconds = 180.0
    remote_poll: Seconds = 5.0
    remote_url: Annotated[
        str | None, Field(pattern=r"^https?://\S+$"), MustBe("an address such as https://cron.example.com")
    ] = None
    executors: Annotated[
        dict[ExecutorName, dict[str, Any]],
        NoDecode,
        BeforeValidator(from_text),
        MustBe("a table of executors, see docs/executors.md; in a variable a JSON object"),
    ] = {}
    heartbeat: Seconds = 15.0
    lease: Seconds = 60.0
    poll: Annotated[
        float | None, Field(gt=0, le=86_400), AsSeconds, MustBe("a number of seconds above 0, up to 86400 (a day)")
    ] = None
    drain_timeout: Annotated[
        float,
        AsSeconds,
        Field(ge=0, le=86_400),
        MustBe("a number of seconds from 0 (wait for all running jobs) to 86400 (a day)"),
    ] = 25.0
    hard_stop_grace: Seconds = 10.0
    version_wait: Annotated[
        float,
        AsSeconds,
        Field(ge=0, le=2_592_000),
        MustBe("a number of seconds from 0 (fail at once) to 2592000 (30 days)"),
    ] = 3600.0
    code_version: Annotated[
        str | None, Field(min_length=1, max_length=100), MustBe("1 to 100 characters, e.g. a commit")
    ] = None
    thread_logs: Annotated[bool, MustBe("true or false")] = False
    print_logs: Annotated[bool, MustBe("true or false")] = True
    http_allow: Annotated[
        tuple[str, ...],
        NoDecode,
        BeforeValidator(_split),
        MustBe("a list of addresses, networks such as 10.1.0.0/16, host names, or * (everything)"),
    ] = ()
    apprise_schemes: Annotated[
        tuple[str, ...],
        NoDecode,
        BeforeValidator(_split),
        MustBe("a list of schemes of Apprise, e.g. tgram, discord"),
    ] = ()
    archive_url: Annotated[
        str | None,
        Field(pattern=r"^(off|/\S+|[a-z][a-z0-9+]*://\S+)$"),
        MustBe("an absolute path, an address such as s3://bucket/prefix, or off"),
    ] = None
    shell: Annotated[bool, MustBe("true or false")] = False
    oidc: Annotated[
        dict[ProviderKey, ProviderSettings],
        NoDecode,
        BeforeValidator(from_text),
        MustBe("a table of providers, see docs/security.md; in a variable a JSON object"),
    ] = {}
    trusted_documents: Annotated[Literal["prefer", "only"], MustBe("prefer or only")] = "prefer"
    allowed_documents: Annotated[Path | None, MustBe("a JSON file of GraphQL documents by SHA-256")] = None
    secret_key: Annotated[
        SecretStr | None,
        AfterValidator(_checked_keys),
        MustBe("one or more keys, each 32 bytes in base64 as `cronograph secret new-key` prints them"),
    ] = None
    secret_key_file: Annotated[Path | None, MustBe("a file that holds keys as CRONOGRAPH_SECRET_KEY does")] = None
    metrics: Annotated[Literal["auto", "open", "token", "off"], MustBe("auto, open, token or off")] = "auto"
    metrics_host: Annotated[str, Field(min_length=1), MustBe("a host name or address")] = "localhost"
    metrics_port: Annotated[
        int | None, Field(ge=0, le=65_535), MustBe("a whole number from 0 (any free port) to 65535")
    ] = None
    traces: Annotated[Literal["off", "auto", "link", "child"], MustBe("off, auto, link or child")] = "off"
    trace_link: Annotated[
        str | None,
        Field(pattern=r"^https?://\S*(\{run\}|\{execution\}|\{trace\})\S*$"),
        MustBe("an http or https address with {run}, {execution} or {trace} in it"),
    ] = None
    trace_logs: Annotated[bool, MustBe("true or false")] = False
    log_format: Annotated[Literal["auto", "human", "json"], MustBe("auto, human or json")] = "auto"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        BeforeValidator(lambda value: value.lower() if isinstance(value, str) else value),
        MustBe("debug, info, warning or error"),
    ] = "info"

    @classmethod
    @override
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return only the values handed over: ``config`` reads the sources itself, to know where each value is from."""
        return (init_settings,)


NAMES = tuple(Settings.model_fields)
"""The names of all settings."""

_OF_ATTEMPT = ("URL", "TOKEN", "NAME", "RUN", "NUMBER")
OTHER_VARIABLES = frozenset(f"CRONOGRAPH_ATTEMPT_{name}" for name in _OF_ATTEMPT) | frozenset(
    {"CRONOGRAPH_CONFIG", "CRONOGRAPH_URL", "CRONOGRAPH_TOKEN", "CRONOGRAPH_SKIP_WEB"}
)
"""Environment variables of the prefix that are no setting of a process: the file, the client's address and token,
the build."""

DEFAULT_FILE = Path("cronograph.toml")
"""Read from the working directory when it is there and no other file is named."""


def must_be(name: str) -> str:
    """Return in words the values that the setting ``name`` may have."""
    return next(mark.words for mark in Settings.model_fields[name].metadata if isinstance(mark, MustBe))
