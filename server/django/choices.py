"""``CRONOGRAPH`` in the settings of a Django project."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote, urlencode

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connections

from ...jobs.store.db.address import SHOWN, address_of_file, with_schema

_TYPES: Final[Mapping[str, type]] = {
    "AUTODISCOVER": bool,
    "DASHBOARD_URL": str,
    "DATABASE": str,
    "DATABASE_URL": str,
    "JOBS": (list | tuple),  # type: ignore[dict-item] # isinstance takes a union
    "SCHEMA": str,
    "SETTINGS": dict,
}

_CARRIED: Final = (SHOWN | {"sslpassword"}) - {"application_name", "client_encoding", "options", "pooler", "schema"}
"""Of the ``OPTIONS`` of a database: where the server is, as whom it is used, and how a connection is secured."""

OF_TASK: Final = "django_task"
"""The attribute of a job's function that holds Django's task, and what its runs carry."""


@dataclass(frozen=True, slots=True)
class Choices:
    """Hold the settings of the project, each with its default.

    Attributes:
        alias: Which of ``DATABASES`` has Cronograph's tables too; None where they are in a database of their own.
        database_url: That database, as for ``cronograph serve``.
        schema: The schema of the tables on PostgreSQL, unless it is ``cronograph``.
        jobs: Modules with jobs besides ``jobs.py`` of each app.
        autodiscover: Whether ``jobs.py`` of each app is imported.
        dashboard_url: Where the page in the admin links to.
        settings: Further settings of the server, by their names in docs/configuration.md.
    """

    alias: str | None = "default"
    database_url: str | None = None
    schema: str | None = None
    jobs: tuple[str, ...] = ()
    autodiscover: bool = True
    dashboard_url: str | None = None
    settings: Mapping[str, Any] | None = None

    @property
    def url(self) -> str:
        """The address of Cronograph's database.

        Raises:
            ImproperlyConfigured: Cronograph cannot use that database of Django.
        """
        url = self.database_url if self.alias is None else _url_of(self.alias)
        assert url is not None
        return with_schema(url, self.schema) if self.schema else url


def choices() -> Choices:
    """Read ``settings.CRONOGRAPH``.

    Raises:
        ImproperlyConfigured: a setting is unknown, is of a wrong type, or contradicts another.
    """
    found: object = getattr(settings, "CRONOGRAPH", {})
    if not isinstance(found, dict):
        raise ImproperlyConfigured(f"CRONOGRAPH: must be a dict, got {type(found).__name__} {found!r:.60}")
    given = cast("dict[str, Any]", found)
    for name, value in given.items():
        if name not in _TYPES:
            near = get_close_matches(str(name), _TYPES, 1)
            hint = f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(_TYPES)}"
            raise ImproperlyConfigured(f"CRONOGRAPH: has no setting {name!r:.60}{hint}")
        if not isinstance(value, _TYPES[name]):
            wanted = {"bool": "True or False", "str": "a text", "dict": "a dict"}.get(
                getattr(_TYPES[name], "__name__", ""), "a list of modules"
            )
            raise ImproperlyConfigured(f"CRONOGRAPH['{name}']: must be {wanted}, got {value!r:.60}")
    if "DATABASE" in given and "DATABASE_URL" in given:
        raise ImproperlyConfigured("CRONOGRAPH: takes DATABASE or DATABASE_URL, got both")
    alias = None if "DATABASE_URL" in given else given.get("DATABASE", "default")
    if alias is not None and alias not in connections:
        raise ImproperlyConfigured(f"CRONOGRAPH['DATABASE']: must be one of {', '.join(connections)}, got '{alias}'")
    return Choices(
        alias,
        given.get("DATABASE_URL"),
        given.get("SCHEMA"),
        tuple(given.get("JOBS", ())),
        given.get("AUTODISCOVER", True),
        given.get("DASHBOARD_URL"),
        given.get("SETTINGS"),
    )


def _url_of(alias: str) -> str:
    """Return the address of one of Django's databases as it is now: in tests it is another."""
    connection = connections[alias]
    settings_of_django = connection.settings_dict
    if connection.vendor == "sqlite":
        return address_of_file(Path(settings_of_django["NAME"]))
    if connection.vendor != "postgresql":
        raise ImproperlyConfigured(
            f"CRONOGRAPH['DATABASE']: must be on PostgreSQL or SQLite, got '{alias}' on {connection.vendor}; "
            "name a database of its own by DATABASE_URL"
        )
    user, password, host, name = (
        quote(settings_of_django[part] or "", safe="") for part in ("USER", "PASSWORD", "HOST", "NAME")
    )
    who = f"{user}{':' * bool(password)}{password}{'@' * bool(user)}"
    port = f":{settings_of_django['PORT']}" if settings_of_django["PORT"] else ""
    query = {key: value for key, value in settings_of_django.get("OPTIONS", {}).items() if key in _CARRIED}
    if settings_of_django["HOST"].startswith("/"):
        # The folder of a socket.
        query["host"], host = settings_of_django["HOST"], ""
    return f"postgresql://{who}{host}{port}/{name}{'?' * bool(query)}{urlencode(query, quote_via=quote)}"
