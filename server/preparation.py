"""The beginning of every command that runs jobs: settings and jobs, with all of their faults in one go."""

import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..jobs.accounts.statements.accounts import active_administrators
from ..jobs.builtin import register_builtin
from ..jobs.core.base.errors import ConfigurationError
from ..jobs.core.nodes import NodeChoice
from ..jobs.registry import Registry, default_registry
from ..jobs.store.db.address import without_password
from ..jobs.store.db.opening import connected
from .configuration.reading import InvalidSettingsError, load
from .configuration.settings import Settings
from .database.schema import migrate
from .discovery import JobsNotFoundError, import_jobs, without_jobs
from .http.bind import addresses_of, is_outside
from .http.forwarded import parse_networks


def choice_of(settings: Settings) -> NodeChoice:
    """Return the runs that the settings let the node take."""
    return NodeChoice(settings.groups, settings.only_jobs, settings.tags, settings.without_tags)


def choice_faults(settings: Settings, registry: Registry) -> Iterator[str]:
    """Yield a sentence for each job of the settings that does not exist."""
    for name in settings.only_jobs:
        if registry.get(name) is None:
            near = get_close_matches(name, registry.names(), 1)
            hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(registry.names())}"
            yield f"only_jobs: must be jobs of this node, got '{name}'; {hint}"


def choice_warnings(settings: Settings, registry: Registry) -> Iterator[str]:
    """Yield a sentence for each choice that leaves this node with nothing, or means nothing."""
    carried = {tag for job in registry for tag in job.tags}
    for setting in ("tags", "without_tags"):
        for tag in getattr(settings, setting):
            if tag not in carried:
                yield f"{setting}: no job of this node carries the tag '{tag}'"
    choice = choice_of(settings)
    if not any(choice.takes_job(job.name, job.tags) for job in registry):
        yield f"this node {choice.words}, and so takes no run of any job that it knows"


def faults_of(settings: Settings) -> Iterator[str]:
    """Return a sentence for each fault of the way in which the server would be reached."""
    try:
        outside = is_outside(addresses_of(settings.host))
    except ConfigurationError as error:
        yield str(error)
        return
    public = outside or bool(settings.trusted_proxies) or settings.public_url is not None
    yield from _faulty_tls(settings)
    yield from _faulty_proxies(settings)
    yield from _faulty_url(settings)
    if settings.no_auth and public:
        what = f"host is '{settings.host}'" if outside else "--trusted-proxies or --public-url is set"
        yield f"no_auth: must not be set where others reach the server, and {what}; without it people sign in"
    elif outside:
        yield from _missing_outside(settings)


def reached_from_here_only(settings: Settings) -> bool:
    """Return whether nobody but programs of this machine reaches the server."""
    public = settings.trusted_proxies or settings.public_url is not None
    return not public and not is_outside(addresses_of(settings.host))


def _missing_outside(settings: Settings) -> Iterator[str]:
    """Yield the settings that a server lacks which is reached from elsewhere."""
    found = f"'{settings.host}' is reached from elsewhere"
    if settings.tls_cert is None and not settings.trusted_proxies:
        yield (
            f"host: {found}, which needs TLS: set --tls-cert and --tls-key, or --trusted-proxies to the network of a "
            "proxy that ends TLS; or use --host localhost and a tunnel, e.g. ssh -L 8000:localhost:8000 <this machine>"
        )
    if settings.public_url is None:
        yield f"host: {found}, which needs --public-url: the address people use, e.g. https://cron.example.com"


def _faulty_tls(settings: Settings) -> Iterator[str]:
    cert, key = settings.tls_cert, settings.tls_key
    if (cert is None) != (key is None):
        yield "tls_cert and tls_key: must be set both or neither"
    if cert is None or key is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        yield f"tls_cert and tls_key: must be a certificate and its key in PEM form, got '{cert}' and '{key}': {error}"


def _faulty_proxies(settings: Settings) -> Iterator[str]:
    try:
        parse_networks(settings.trusted_proxies)
    except ValueError as error:
        yield f"trusted_proxies: must be addresses or networks such as 10.1.0.0/16: {error}"


def _faulty_url(settings: Settings) -> Iterator[str]:
    text = settings.public_url
    if text is None:
        return
    shown = without_password(text)[:100]
    try:
        parts = urlsplit(text)
        plain = (
            bool(parts.hostname) and parts.path in ("", "/") and not (parts.query or parts.fragment or parts.username)
        )
        right = plain and (parts.port or 1) > 0 and parts.scheme in ("https", "http")
    except ValueError:
        right, parts = False, urlsplit("")
    if not right:
        yield (
            f"public_url: must be an address without a path, e.g. https://cron.example.com, got {shown!r}; "
            "give the server a host name of its own, or mount it in your application (cronograph.server.Cronograph)"
        )
    elif parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        yield f"public_url: must begin with https:// unless it is localhost, got {shown!r}"


def check_administrator(settings: Settings) -> None:
    """Refuse to be reached from elsewhere without an administrator: the first visitor would be it.

    Brings the database up to date first, to be able to look.

    Raises:
        ConfigurationError: there is none, and ``setup_public`` is not set.
    """
    if _may_lack_administrator(settings):
        return
    migrate(settings.database_url)
    for fault in administrator_faults(settings):
        raise ConfigurationError(fault)


def administrator_faults(settings: Settings, *, empty: bool = False) -> Iterator[str]:
    """Yield the same as a sentence, of a database that is up to date, or in which there is nothing yet (``empty``)."""
    if _may_lack_administrator(settings):
        return
    if not empty:
        with connected(settings.database_url) as connection:
            if active_administrators(connection) > 0:
                return
    yield (
        f"host: '{settings.host}' is reached from elsewhere, which needs an administrator: make one by `cronograph "
        "user add NAME --role admin --password-stdin --create`, or let the set-up link be used from elsewhere by "
        "--setup-public"
    )


def _may_lack_administrator(settings: Settings) -> bool:
    return settings.setup_public or not is_outside(addresses_of(settings.host))


@dataclass(frozen=True, slots=True)
class Prepared:
    """The outcome of a preparation.

    Attributes:
        settings: In force; faulty ones are at their defaults.
        faults: The reasons against a start, one sentence each.
        warnings: Other oddities, one sentence each.
        faulty: The names of the settings that are wrong.
    """

    settings: Settings
    faults: list[str]
    warnings: list[str]
    faulty: frozenset[str] = frozenset()

    def checked(self) -> Settings:
        """Return the settings.

        Raises:
            InvalidSettingsError: there are faults; lists them all.
        """
        if self.faults:
            raise InvalidSettingsError(self.faults, self.warnings, self.settings, self.faulty)
        return self.settings


def prepare(flags: Mapping[str, Any], config_file: Path | None, *, serves_api: bool = True) -> Prepared:
    """Load the settings, judge the host, import the jobs and add the built-in ones.

    Args:
        flags: Setting name to value as given on the command line; None = not given.
        config_file: The configuration file that was named, if one was.
        serves_api: Whether people and programs are to be answered; else it does not matter how they would be reached.
    """
    try:
        loaded = load(flags, config_file)
        prepared = Prepared(loaded.settings, [], loaded.warnings)
    except InvalidSettingsError as error:
        prepared = Prepared(error.partial, error.faults, error.warnings, error.faulty)
    if serves_api:
        prepared.faults.extend(faults_of(prepared.settings))
    if prepared.settings.code_version is not None:
        default_registry().code_version = prepared.settings.code_version
    try:
        import_jobs(prepared.settings.jobs)
        for module in without_jobs(prepared.settings.jobs, default_registry()):
            prepared.warnings.append(f"jobs: module '{module}' has no job; is it the right one, and is @job there?")
        register_builtin(default_registry(), with_shell=prepared.settings.shell)
        default_registry().check()
        prepared.faults.extend(choice_faults(prepared.settings, default_registry()))
        prepared.warnings.extend(choice_warnings(prepared.settings, default_registry()))
    except JobsNotFoundError as error:
        prepared.faults.extend(error.faults)
    except ConfigurationError as error:
        prepared.faults.append(f"jobs: {error}")
    return prepared
