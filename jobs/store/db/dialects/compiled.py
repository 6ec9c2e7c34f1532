"""Keep SQLAlchemy's compiled statements once for all engines of this process that would compile the same."""

from typing import Any, Final, cast

from sqlalchemy import URL, Engine
from sqlalchemy.dialects import registry
from sqlalchemy.engine.interfaces import CompiledCacheType
from sqlalchemy.util import LRUCache
from typing_extensions import override

from ...schema.types import SCHEMA

COMPILED: Final = cast("CompiledCacheType", LRUCache[Any, Any](1000))
"""The statements that were used last, by their dialect and their form."""

_DRIVERS: Final = {"sqlite": "sqlite+cronograph", "postgresql": "postgresql+cronograph"}

for _database in ("sqlite", "postgresql"):
    registry.register(f"{_database}.cronograph", f"{__package__}.{_database}_dialect", "SharedDialect")


class Alike:
    """A dialect that stands for every other of its kind: same database, same version, tables of the same schema."""

    tables_in = SCHEMA
    """The schema that statements name."""

    server_version_info: Any = None

    # Asked for each statement, so as short as can be.
    @override
    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Alike)
            and type(self) is type(other)
            and self.tables_in == other.tables_in
            and self.server_version_info == other.server_version_info
        )

    @override
    def __hash__(self) -> int:
        return hash(self.tables_in)


def for_shared_statements(url: URL) -> URL:
    """Return the address by which SQLAlchemy makes an engine that shares its statements."""
    return url.set(drivername=_DRIVERS[url.get_backend_name()])


def name_tables(engine: Engine, schema: str) -> None:
    """Have every statement of this engine name the tables by their schema.

    When it is compiled, once: ``schema_translate_map`` would write each statement again at every execution, which costs
    a list of runs 40 µs. That is for connections of others, see ``borrowed``.
    """
    if schema != SCHEMA:

        def schema_of(named: Any) -> Any:
            return schema if named.schema == SCHEMA else named.schema

        dialect: Any = engine.dialect
        dialect.tables_in = schema
        dialect.identifier_preparer.schema_for_object = schema_of
