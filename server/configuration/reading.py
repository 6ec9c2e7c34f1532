"""Reads the settings (defaults < cronograph.toml < CRONOGRAPH_* < flags) and judges them as a whole.

Every fault and every warning is found in one go, and each says which setting it is about, by the name under which its
author wrote it, the rule, the value, and a right value.
"""

import json
import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError
from pydantic_settings import EnvSettingsSource, TomlConfigSettingsSource

from ...graphql.transport.body import PROGRAMS, sha256_of
from ...jobs.builtin.address_guard import AllowList
from ...jobs.core.base.errors import ConfigurationError
from ...jobs.store.db.address import (
    SERVER_FORM,
    is_pooled,
    is_sqlite,
    parse_url,
    schema_in,
    sqlite_path,
    with_schema,
    without_password,
)
from .secret_keys import read_keys
from .settings import DEFAULT_FILE, ENV_PREFIX, NAMES, OTHER_VARIABLES, SECRET, Settings, must_be

LEASE_SHARE = 0.5
"""A heartbeat may take at most this share of the lease (the rule of the engine)."""

PROVIDERS = "oidc"
"""The setting whose value is never shown."""

MAX_SHOWN = 120
"""Characters of a wrong value that its error message shows."""

_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class InvalidSettingsError(ConfigurationError):
    """The settings cannot work; lists every fault.

    Attributes:
        faults: One sentence each.
        warnings: Other findings, one sentence each.
        partial: The settings with the faulty ones at their defaults, for further checks.
        faulty: The names of the settings that are wrong.
    """

    def __init__(
        self, faults: list[str], warnings: list[str], partial: Settings, faulty: frozenset[str] = frozenset()
    ) -> None:
        super().__init__("\n".join(faults))
        self.faulty = faulty
        self.faults = faults
        self.warnings = warnings
        self.partial = partial


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings that work, and warnings about them."""

    settings: Settings
    warnings: list[str]


@dataclass(slots=True)
class _Sources:
    """Hold the settings of each source, the strongest last, and their names there."""

    flags: Mapping[str, Any]
    environment: Mapping[str, Any]
    file: Mapping[str, Any]
    file_name: str
    faults: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    faulty: set[str] = field(default_factory=set[str])

    def merged(self) -> dict[str, Any]:
        return {**self.file, **self.environment, **self.flags}

    def called(self, name: str) -> str:
        """Return the setting under the name that its author used."""
        if name in self.flags:
            return f"--{name.replace('_', '-')}"
        if name in self.environment:
            return f"{ENV_PREFIX}{name.upper()}"
        return f"{name} in {self.file_name}" if name in self.file else name


def load(flags: Mapping[str, Any], config_file: Path | None = None) -> Loaded:
    """Return the settings of this process.

    Args:
        flags: Setting name to value as given on the command line; None = not given.
        config_file: The file to read; None = ``CRONOGRAPH_CONFIG``, else ``cronograph.toml`` if there is one.

    Raises:
        InvalidSettingsError: they cannot work; lists all faults and warnings.
    """
    sources = _read(flags, config_file)
    settings = _validated(sources)
    if sources.faults:
        raise InvalidSettingsError(sources.faults, sources.warnings, settings, frozenset(sources.faulty))
    return Loaded(settings, sources.warnings)


def given(values: Mapping[str, Any]) -> Settings:
    """Return settings that code gives; neither variables nor a file are looked at.

    Raises:
        InvalidSettingsError: they cannot work; lists all faults.
    """
    sources = _Sources({}, {}, values, "the call")
    sources.faults.extend(
        f"{name}: no such setting{_did_you_mean(name, NAMES)}" for name in values if name not in NAMES
    )
    settings = _validated(sources)
    if sources.faults:
        raise InvalidSettingsError(sources.faults, sources.warnings, settings, frozenset(sources.faulty))
    return settings


def _read(flags: Mapping[str, Any], config_file: Path | None) -> _Sources:
    named = config_file or _named_in_environment()
    path = named or DEFAULT_FILE
    given = {name: value for name, value in flags.items() if value is not None}
    sources = _Sources(given, EnvSettingsSource(Settings)(), {}, str(path))
    if path.is_file():
        sources.file = _read_file(path, sources.faults)
    elif named is not None:
        sources.faults.append(f"configuration file: must be a file, got '{named}', which does not exist")
    sources.warnings.extend(_unknown_variables())
    return sources


def _named_in_environment() -> Path | None:
    name = os.environ.get("CRONOGRAPH_CONFIG")
    return Path(name) if name else None


def _read_file(path: Path, faults: list[str]) -> dict[str, Any]:
    try:
        data = TomlConfigSettingsSource(Settings, path).toml_data
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        faults.append(f"{path}: must be a readable TOML file: {error}")
        return {}
    faults.extend(f"{key} in {path}: no such setting{_did_you_mean(key, NAMES)}" for key in data if key not in NAMES)
    return {key: value for key, value in data.items() if key in NAMES}


def _unknown_variables() -> Iterator[str]:
    known = {f"{ENV_PREFIX}{name.upper()}" for name in NAMES} | OTHER_VARIABLES
    for name in sorted(os.environ):
        if name.startswith(ENV_PREFIX) and name not in known:
            yield f"{name}: no such setting, it is ignored{_did_you_mean(name, known)}"


def _did_you_mean(name: str, known: Collection[str]) -> str:
    near = get_close_matches(name, sorted(known), n=1, cutoff=0.7)
    return f"; did you mean {near[0]}?" if near else ""


def _validated(sources: _Sources) -> Settings:
    """Return the settings, checked one by one and then together; the second check skips values that are wrong alone."""
    values = sources.merged()
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        sources.faulty.update(str(fault["loc"][0]) for fault in error.errors())
        sources.faults.extend(_faulty_providers(error, sources))
        for name in (name for name in NAMES if name in sources.faulty and name != PROVIDERS):
            sources.faults.append(
                f"{sources.called(name)}: must be {must_be(name)}, got {_shown_of(name, values[name])}"
            )
        settings = Settings.model_validate(
            {name: value for name, value in values.items() if name not in sources.faulty}
        )
    alone = frozenset(sources.faulty)
    for names, sentence in _together(settings, sources):
        if not alone.intersection(names):
            sources.faults.append(sentence)
            sources.faulty.update(names)
    if "jobs" in sources.faulty:
        # What is no name of a module was refused as that: nobody has to look for it.
        settings = settings.model_copy(update={"jobs": tuple(filter(_MODULE.fullmatch, settings.jobs))})
    if not sources.faulty.intersection({"heartbeat", "lease"}):
        sources.warnings.extend(_tight_lease(settings, sources))
    if sources.faulty.intersection({"database_url", "database_schema"}):
        return settings
    # From here on each address says all.
    schema = settings.database_schema or schema_in(parse_url(settings.database_url))
    urls = {"database_url": settings.database_url, "read_database_url": settings.read_database_url}
    whole = {
        name: with_schema(url, schema) for name, url in urls.items() if url is not None and name not in sources.faulty
    }
    return settings.model_copy(update=whole)


def _faulty_providers(error: ValidationError, sources: _Sources) -> Iterator[str]:
    """Return the faults of providers, part by part and without any value: their secrets are among them."""
    for fault in error.errors(include_input=False, include_url=False):
        name, *parts = map(str, fault["loc"])
        if name == PROVIDERS:
            where = ".".join((sources.called(name), *parts))
            yield f"{where}: {fault['msg'].removeprefix('Value error, ')}"


def _together(settings: Settings, sources: _Sources) -> Iterator[tuple[set[str], str]]:
    """Yield the faults of settings together: the settings concerned, and the sentence."""
    try:
        yield from _missing_folder(settings, sources)
        yield from _other_schema(settings, sources)
    except ConfigurationError as error:
        yield {"database_url"}, f"{sources.called('database_url')}: {str(error).removeprefix('database URL: ')}"
    yield from _wrong_replica(settings, sources)
    limit = LEASE_SHARE * settings.lease
    if settings.heartbeat > limit:
        bound = f"at most half the lease ({limit:g} s)"
        yield {"heartbeat", "lease"}, f"{sources.called('heartbeat')}: must be {bound}, got {settings.heartbeat:g}"
    try:
        AllowList.parse(settings.http_allow)
    except ConfigurationError:
        shown = _shown(", ".join(settings.http_allow))
        yield {"http_allow"}, f"{sources.called('http_allow')}: must be {must_be('http_allow')}, got {shown}"
    if settings.trace_logs and settings.traces == "off":
        needs = "needs traces, which are off; set traces to auto, link or child"
        yield {"trace_logs", "traces"}, f"{sources.called('trace_logs')}: {needs}"
    yield from _unreadable_documents(settings, sources)
    yield from _wrong_keys(settings, sources)
    for key, provider in settings.oidc.items():
        try:
            provider.secret()
        except OSError as error:
            yield {PROVIDERS}, f"{sources.called(PROVIDERS)}.{key}.client_secret_file: must be readable: {error}"
    for module in settings.jobs:
        if not _MODULE.fullmatch(module):
            yield {"jobs"}, f"{sources.called('jobs')}: must be module names, got {_shown(module)}{_as_module(module)}"


def _other_schema(settings: Settings, sources: _Sources) -> Iterator[tuple[set[str], str]]:
    url, schema = parse_url(settings.database_url), settings.database_schema
    if "schema" in url.query and schema not in (None, schema_in(url)):
        called = sources.called("database_schema")
        yield (
            {"database_schema"},
            f"{called}: must be '{schema_in(url)}' as in the address, or left out, got '{schema}'",
        )


def _wrong_replica(settings: Settings, sources: _Sources) -> Iterator[tuple[set[str], str]]:
    text, called = settings.read_database_url, sources.called("read_database_url")
    if text is None:
        return
    try:
        url = parse_url(text, SERVER_FORM)
    except ConfigurationError as error:
        yield {"read_database_url"}, f"{called}: {str(error).removeprefix('database URL: ')}"
        return
    if is_sqlite(url):
        yield {"read_database_url"}, f"{called}: must be a standby of a PostgreSQL server, got a SQLite file"
        return
    if is_pooled(url):
        alone = "must be the address of the standby itself, without ?pooler=transaction"
        yield {"read_database_url"}, f"{called}: {alone}: each read asks the connection that reads how far it is"
    try:
        ours = parse_url(settings.database_url)
    except ConfigurationError:
        # Said of the other setting.
        return
    if is_sqlite(ours):
        needs = "needs a PostgreSQL server in database_url, of which it is a standby, got a SQLite file there"
        yield {"read_database_url", "database_url"}, f"{called}: {needs}"
        return
    schema = settings.database_schema or schema_in(ours)
    if "schema" in url.query and schema_in(url) != schema:
        must = f"must name the schema '{schema}', as database_url does, or none"
        yield {"read_database_url"}, f"{called}: {must}, got '{schema_in(url)}'"


def _missing_folder(settings: Settings, sources: _Sources) -> Iterator[tuple[set[str], str]]:
    url = parse_url(settings.database_url)
    if url.get_backend_name() != "sqlite":
        return
    folder = sqlite_path(url).parent
    if not folder.is_dir():
        called = sources.called("database_url")
        yield {"database_url"}, f"{called}: must be a file in an existing folder, got '{folder}', which does not exist"


def _unreadable_documents(settings: Settings, sources: _Sources) -> Iterator[tuple[set[str], str]]:
    path = settings.allowed_documents
    if path is None:
        return
    try:
        read_documents(path)
    except ConfigurationError as error:
        for line in str(error).splitlines():
            yield {"allowed_documents"}, f"{sources.called('allowed_documents')}: '{path}' {line}"


def _wrong_keys(settings: Settings, sources: _Sources) -> Iterator[tuple[set[str], str]]:
    path = settings.secret_key_file
    if path is None:
        return
    if settings.secret_key is not None:
        both = {"secret_key", "secret_key_file"}
        yield (
            both,
            f"{sources.called('secret_key_file')}: must not be given together with secret_key; take one",
        )
        return
    try:
        read_keys(path)
    except ConfigurationError as error:
        yield {"secret_key_file"}, f"{sources.called('secret_key_file')}: {error}"


def _tight_lease(settings: Settings, sources: _Sources) -> Iterator[str]:
    if settings.lease / 3 < settings.heartbeat <= LEASE_SHARE * settings.lease:
        yield (
            f"{sources.called('heartbeat')}: should be at most a third of lease ({settings.lease / 3:g} s), got "
            f"{settings.heartbeat:g}; a single late heartbeat endangers this node"
        )


def _as_module(text: str) -> str:
    """Return the module behind a file path or ``module:attribute``, as a suggestion."""
    named, colon, _ = text.partition(":")
    module = named.removesuffix(".py").strip("./").replace("/", ".")
    if not _MODULE.fullmatch(module):
        return ""
    return f"; did you mean {module}?" + (" All jobs of a module are taken" if colon else "")


def _shown_of(name: str, value: object) -> str:
    return f"{len(str(value))} characters" if name in SECRET else _shown(value)


def _shown(value: object) -> str:
    """Return the value as an error shows it: short, and without the password of a URL."""
    text = repr(without_password(value) if isinstance(value, str) else value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}… ({len(text):,} characters)"


PAGES = "documents.json"
"""The list that the build of the dashboard writes: the operations of its pages."""

MANIFEST = "apollo-persisted-query-manifest"
"""The ``format`` of the manifest that Apollo's tools write."""

MAX_FAULTS = 5
"""Faults of one file that are reported."""


def own_documents(site: Path) -> dict[str, str]:
    """Return the documents of our own programs, by SHA-256.

    Args:
        site: The folder of the built dashboard; without one in it, its operations are missing.
    """
    built = site / PAGES
    pages = read_documents(built) if built.is_file() else {}
    return pages | read_documents(PROGRAMS)


def read_documents(path: Path) -> dict[str, str]:
    """Return the documents of a file, by SHA-256.

    The file is JSON: an object of SHA-256 and document, as most tools write it (``persisted-documents.json``), or
    Apollo's manifest (``{"format": "apollo-persisted-query-manifest", "operations": [{"id", "body"}]}``).

    Raises:
        ConfigurationError: it cannot be read or is of another form, or a hash is not that of its document; a line each.
    """
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"must be a readable JSON file: {error}") from error
    listed = _listed(data)
    if listed is None:
        form = 'an object of SHA-256 and document, or a manifest of Apollo with "operations"'
        raise ConfigurationError(f"must hold {form}")
    faults = [
        f"'{sha256[:80]}' must be the SHA-256 of its document, which is {actual}"
        for sha256, text in listed.items()
        if (actual := sha256_of(text)) != sha256
    ]
    if faults:
        more = [f"and {len(faults) - MAX_FAULTS} more"] if len(faults) > MAX_FAULTS else []
        raise ConfigurationError("\n".join([*faults[:MAX_FAULTS], *more]))
    return listed


def _listed(data: object) -> dict[str, str] | None:
    """Return document by hash; None if the data are of neither form."""
    if not isinstance(data, dict):
        return None
    members = cast("dict[str, Any]", data)
    if members.get("format") == MANIFEST:
        try:
            members = {one["id"]: one["body"] for one in members["operations"]}
        except (KeyError, TypeError):
            return None
    return members if all(isinstance(text, str) for pair in members.items() for text in pair) else None
