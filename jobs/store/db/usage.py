"""How much one part of a process uses its database; for monitoring."""

from dataclasses import dataclass


@dataclass(slots=True)
class Usage:
    """Written by the part itself, read from any thread.

    Attributes:
        part: Which part, e.g. ``"api"``.
        reads: Transactions that read.
        writes: Transactions that wrote.
        statements: Statements that were transactions of their own.
    """

    part: str
    reads: int = 0
    writes: int = 0
    statements: int = 0


@dataclass(frozen=True, slots=True)
class Pool:
    """Connections of one part.

    Attributes:
        in_use: How many of them are used now.
        size: How many there may be.
    """

    in_use: int
    size: int
