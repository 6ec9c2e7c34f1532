"""Texts that hold or begin with another one, in any case: ``äöü`` finds ``ÄÖÜ``.

Neither database can be asked for this as it stands: SQLite knows the case of ASCII letters only, and PostgreSQL that of
other letters only under some collations. So each letter that has two forms is looked for in both.
"""

from sqlalchemy import ColumnElement, String, literal

from ...db.functions import fits_pattern


def contains(column: ColumnElement[str], text: str) -> ColumnElement[bool]:
    """Whether a column holds a text, in any case."""
    if text.isascii():
        return column.icontains(text, autoescape=True)
    return _fits(column, expression(text), f"*{glob(text)}*")


def starts_with(column: ColumnElement[str], text: str) -> ColumnElement[bool]:
    """Whether a column begins with a text, in any case."""
    if text.isascii():
        return column.istartswith(text, autoescape=True)
    return _fits(column, f"^{expression(text)}", f"{glob(text)}*")


def _fits(column: ColumnElement[str], regular: str, globbed: str) -> ColumnElement[bool]:
    return fits_pattern(column, literal(regular, String()), literal(globbed, String()))


def expression(text: str) -> str:
    """PostgreSQL's regular expression for a text in any case."""
    return "".join(_class(letter) or (f"\\{letter}" if _special(letter) else letter) for letter in text)


def glob(text: str) -> str:
    """SQLite's GLOB pattern for a text in any case."""
    return "".join(_class(letter) or (f"[{letter}]" if letter in "*?[" else letter) for letter in text)


def _special(letter: str) -> bool:
    return letter.isascii() and letter.isprintable() and not letter.isalnum() and not letter.isspace()


def _class(letter: str) -> str | None:
    """The forms of a letter, such as ``[äÄ]``; None if it has but one."""
    forms = [letter, *(form for form in (letter.lower(), letter.upper()) if len(form) == 1 and form != letter)]
    return f"[{''.join(forms)}]" if len(forms) > 1 else None
