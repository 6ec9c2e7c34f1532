"""A form for a person, made from the JSON Schema of the payload that a run waits for; plain HTML, and read back."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from html import escape
from typing import Any, Final, cast

from ...jobs.core.base.errors import InvalidInput
from ...jobs.core.model import Json

PREFIX: Final = "f."
"""Begins the name of each field; what stands behind it is the member of the payload."""
WHOLE: Final = "payload"
"""The one field of a payload that no form can ask for: JSON."""
MAX_FIELDS: Final = 16
LONG: Final = 200
"""A text that may have more characters gets several lines."""
_FORMATS: Final = {"date": "date", "time": "time", "email": "email", "uri": "url"}
_YES_NO: Final = ((True, "Yes"), (False, "No"))


class Widget(Enum):
    """Name the kind of a field."""

    CHOICE = "choice"
    NUMBER = "number"
    WHOLE_NUMBER = "whole number"
    LINE = "line"
    LINES = "lines"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Field:
    """One question.

    Attributes:
        name: Of the member of the payload; None = it is the whole payload.
        required: Whether there must be an answer.
        schema: Its JSON Schema, without references.
        choices: The values to choose from, with their words.
        default: The answer that is filled in.
    """

    name: str | None
    label: str
    hint: str
    required: bool
    widget: Widget
    schema: Mapping[str, Any]
    choices: tuple[tuple[Json, str], ...] = ()
    default: Json = None

    @property
    def key(self) -> str:
        """Its name in the form."""
        return PREFIX if self.name is None else f"{PREFIX}{self.name}"


@dataclass(frozen=True, slots=True)
class Form:
    """The questions of a page; none, and ``whole``: it asks for the payload as JSON."""

    fields: tuple[Field, ...]
    whole: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all of its fields."""
        return (WHOLE,) if self.whole else tuple(one.key for one in self.fields)


def form_of(schema: Mapping[str, Any] | None) -> Form:
    """Return the form of a payload; without a schema it asks nothing."""
    if schema is None:
        return Form(())
    root = _resolved(schema, schema)
    if root.get("type") != "object" or "properties" not in root:
        field = _field(None, root, schema, required=True)
        return Form((), whole=True) if field.widget is Widget.JSON else Form((field,))
    properties: Mapping[str, Any] = root["properties"]
    if len(properties) > MAX_FIELDS:
        return Form((), whole=True)
    required = set(root.get("required", ()))
    return Form(tuple(_field(name, one, schema, required=name in required) for name, one in properties.items()))


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with that in the place of its reference, or of its first alternative that is not null."""
    for _ in range(20):
        if isinstance(target := schema.get("$ref"), str) and target.startswith("#/$defs/"):
            found: Any = root.get("$defs", {}).get(target.removeprefix("#/$defs/"), {})
        elif isinstance(several := schema.get("anyOf", schema.get("allOf")), list):
            listed = cast("list[dict[str, Any]]", several)
            found = next((one for one in listed if one.get("type") != "null"), dict[str, Any]())
        else:
            return schema
        own = {name: value for name, value in schema.items() if name not in ("$ref", "anyOf", "allOf")}
        schema = {**found, **own}
    return {}


def _field(name: str | None, given: Mapping[str, Any], root: Mapping[str, Any], *, required: bool) -> Field:
    schema = _resolved(given, root)
    widget, choices = _widget(schema)
    label = schema.get("title") or (name or "Answer").replace("_", " ").capitalize()
    return Field(
        name, str(label), str(schema.get("description", "")), required, widget, schema, choices, schema.get("default")
    )


def _widget(schema: Mapping[str, Any]) -> tuple[Widget, tuple[tuple[Json, str], ...]]:
    values: Sequence[Json] | None = [schema["const"]] if "const" in schema else schema.get("enum")
    if values is not None:
        return Widget.CHOICE, tuple((value, _word(value)) for value in values)
    match schema.get("type"):
        case "boolean":
            return Widget.CHOICE, _YES_NO
        case "integer":
            return Widget.WHOLE_NUMBER, ()
        case "number":
            return Widget.NUMBER, ()
        case "string":
            return Widget.LINES if schema.get("maxLength", 0) > LONG else Widget.LINE, ()
        case _:
            return Widget.JSON, ()


def _word(value: Json) -> str:
    if isinstance(value, bool):
        return "Yes" if value else "No"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def html_of(form: Form, schema: Mapping[str, Any] | None, entered: Mapping[str, str]) -> str:
    """Return the fields of a form, with the values entered before."""
    if form.whole:
        shown = escape(json.dumps(schema, indent=2, ensure_ascii=False))
        return (
            f'<label for="{WHOLE}">Answer, as JSON</label>'
            f'<textarea id="{WHOLE}" name="{WHOLE}" required>{escape(entered.get(WHOLE, ""))}</textarea>'
            f"<details><summary>What it has to be</summary><pre>{shown}</pre></details>"
        )
    return "".join(_html(number, one, entered.get(one.key)) for number, one in enumerate(form.fields))


def _html(number: int, one: Field, entered: str | None) -> str:
    at, name, label = f"f{number}", escape(one.key), escape(one.label)
    hint = f'<small id="{at}-hint">{escape(one.hint)}</small>' if one.hint else ""
    needed = (" required" if one.required else "") + (f' aria-describedby="{at}-hint"' if one.hint else "")
    optional = "" if one.required else ' <span class="dim">(optional)</span>'
    if one.widget is Widget.CHOICE:
        return _choice_html(at, one, entered, f"<legend>{label}{optional}</legend>", hint)
    value = entered if entered is not None else _default_text(one)
    head = f'<label for="{at}">{label}{optional}</label>'
    if one.widget in (Widget.LINES, Widget.JSON):
        note = '<small class="dim">As JSON.</small>' if one.widget is Widget.JSON else ""
        limits = _limits(one.schema, (("minLength", "minlength"), ("maxLength", "maxlength")))
        return f'{head}<textarea id="{at}" name="{name}"{needed}{limits}>{escape(value)}</textarea>{note}{hint}'
    return f'{head}<input id="{at}" name="{name}" value="{escape(value)}"{needed}{_kind(one)}>{hint}'


def _choice_html(at: str, one: Field, entered: str | None, legend: str, hint: str) -> str:
    chosen = entered if entered is not None else (None if one.default is None else json.dumps(one.default))
    needed = " required" if one.required else ""
    options = "".join(
        f'<label><input type="radio" name="{escape(one.key)}" value="{escape(json.dumps(value))}"{needed}'
        f"{' checked' if json.dumps(value) == chosen else ''}>{escape(word)}</label>"
        for value, word in one.choices
    )
    return f'<fieldset id="{at}">{legend}{hint}{options}</fieldset>'


def _kind(one: Field) -> str:
    bounds = (("minimum", "min"), ("maximum", "max"))
    match one.widget:
        case Widget.WHOLE_NUMBER:
            return ' type="number" inputmode="numeric" step="1"' + _limits(one.schema, bounds)
        case Widget.NUMBER:
            return ' type="number" inputmode="decimal" step="any"' + _limits(one.schema, bounds)
        case _:
            kind = _FORMATS.get(str(one.schema.get("format")), "text")
            return f' type="{kind}"' + _limits(one.schema, (("minLength", "minlength"), ("maxLength", "maxlength")))


def _limits(schema: Mapping[str, Any], names: tuple[tuple[str, str], ...]) -> str:
    found = ((html, schema.get(name)) for name, html in names)
    return "".join(f' {html}="{value}"' for html, value in found if isinstance(value, int | float))


def _default_text(one: Field) -> str:
    if one.default is None:
        return ""
    return one.default if isinstance(one.default, str) else json.dumps(one.default, ensure_ascii=False)


def payload_of(form: Form, entered: Mapping[str, str]) -> Json:
    """Return the payload that was entered in the fields of a form, which asks for some.

    Raises:
        InvalidInput: a field holds nothing of its kind.
    """
    if len(form.fields) == 1 and form.fields[0].name is None:
        return _value(form.fields[0], entered.get(PREFIX, ""))
    return dict(_members(form, entered))


def _members(form: Form, entered: Mapping[str, str]) -> Iterator[tuple[str, Json]]:
    for one in form.fields:
        text = entered.get(one.key, "")
        # What is not answered and need not be is left out, and has its default.
        if one.name is not None and (text or (one.required and one.widget in (Widget.LINE, Widget.LINES))):
            yield one.name, _value(one, text)


def _value(one: Field, text: str) -> Json:
    try:
        match one.widget:
            case Widget.LINE:
                return text
            case Widget.LINES:
                return text.replace("\r\n", "\n")
            case Widget.WHOLE_NUMBER:
                return int(text)
            case Widget.NUMBER:
                # A number without a fraction stays whole, however long it is.
                return int(text) if text.lstrip("+-").isdecimal() else _finite(float(text))
            case Widget.CHOICE:
                return {json.dumps(value): value for value, _ in one.choices}[text]
            case Widget.JSON:
                return json.loads(text)
    except (ValueError, KeyError, RecursionError):
        kinds = {Widget.CHOICE: "one of the choices", Widget.NUMBER: "a number", Widget.JSON: "JSON"}
        message = f"{one.label}: must be {kinds.get(one.widget, 'a whole number')}, got {text!r:.60}"
        raise InvalidInput(message, path=("payload", *(() if one.name is None else (one.name,)))) from None


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError
    return value


def shown_html(value: Json) -> str:
    """Return a value as HTML, to be looked at: objects are lists of their members, lists of objects are tables."""
    if value is None:
        return ""
    if isinstance(value, dict) and value:
        members = cast("dict[str, Json]", value)
        rows = "".join(f"<dt>{escape(name)}</dt><dd>{_inner(one)}</dd>" for name, one in members.items())
        return f"<dl>{rows}</dl>"
    return f"<div>{_inner(value)}</div>"


def _inner(value: Json) -> str:
    items = _listed(value)
    rows = [cast("dict[str, Json]", one) for one in items if isinstance(one, dict)]
    if rows and len(rows) == len(items):
        return _table(rows)
    if items and not any(isinstance(one, dict | list) for one in items):
        return "<ul>" + "".join(f"<li>{escape(_plain(one))}</li>" for one in items) + "</ul>"
    if isinstance(value, dict | list):
        return f"<pre>{escape(json.dumps(value, indent=2, ensure_ascii=False))}</pre>"
    return escape(_plain(value)).replace("\n", "<br>")


def _listed(value: Any) -> Sequence[Json]:  # noqa: ANN401 - any JSON
    return cast("Sequence[Json]", value) if isinstance(value, list) else ()


def _plain(value: Json) -> str:
    return "–" if value is None else _word(value)


def _table(rows: list[dict[str, Json]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{_cell(row.get(name))}</td>" for name in names) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: Json) -> str:
    return escape(json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else _plain(value))
