"""How the tests bring a database to the present schema."""


def migrate(url: str) -> None:
    """Create every table in the database at `url`."""
