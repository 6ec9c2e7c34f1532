"""Forms of the page on which somebody without an account answers: made from a model, read back as its payload."""

import json
from datetime import date
from decimal import Decimal
from enum import Enum
from html.parser import HTMLParser
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

from cronograph.jobs import AnswerPage
from cronograph.jobs.core.base.errors import InvalidInput, SeveralFaults, UserError
from cronograph.server.http.answer_form import MAX_FIELDS, form_of, html_of, payload_of, shown_html
from tests.support.sources import ROOT


class Size(Enum):
    SMALL = 1
    LARGE = 2


class Order(BaseModel):
    verdict: Literal["yes", "no <b>"]
    size: Size = Size.LARGE
    count: Annotated[int, Field(ge=1, le=9, title="How many", description="At most <9>")]
    price: Decimal | None = None
    factor: float = 1.5
    due: date
    sure: bool
    name: Annotated[str, Field(min_length=2, max_length=20)]
    note: Annotated[str, Field(max_length=500)] = 'a "quoted" default'
    tags: list[str] = []


def schema_of(kind: Any) -> dict[str, Any]:
    return TypeAdapter(kind).json_schema()


FILLED = {
    "f.verdict": '"no <b>"',
    "f.size": "1",
    "f.count": "7",
    "f.price": "1.25",
    "f.due": "2026-03-01",
    "f.sure": "false",
    "f.name": "Ada",
    "f.note": "one\r\ntwo",
    "f.tags": '["a"]',
}


def test_each_kind_of_member_has_its_field_and_is_read_back() -> None:
    schema = schema_of(Order)
    form = form_of(schema)
    html = html_of(form, schema, {})
    for part in (
        '<input type="radio" name="f.verdict" value="&quot;yes&quot;" required>yes',
        '<input type="radio" name="f.verdict" value="&quot;no &lt;b&gt;&quot;" required>no &lt;b&gt;',
        '<input type="radio" name="f.size" value="2" checked>2',
        'name="f.count" value="" required aria-describedby="f2-hint" type="number" inputmode="numeric" step="1"',
        ' min="1" max="9">',
        'max="9"><small id="f2-hint">At most &lt;9&gt;</small>',
        'name="f.price" value="" type="number" inputmode="decimal" step="any"',
        'name="f.due" value="" required type="date"',
        'value="true" required>Yes',
        'name="f.name" value="" required type="text" minlength="2" maxlength="20"',
        'name="f.note" maxlength="500">a &quot;quoted&quot; default</textarea>',
        'name="f.tags">[]</textarea><small class="dim">As JSON.</small>',
    ):
        assert part in html, part
    found = Order.model_validate(payload_of(form, FILLED))
    assert found.model_dump() == {
        "verdict": "no <b>",
        "size": Size.SMALL,
        "count": 7,
        "price": Decimal("1.25"),
        "factor": 1.5,
        "due": date(2026, 3, 1),
        "sure": False,
        "name": "Ada",
        "note": "one\ntwo",
        "tags": ["a"],
    }
    # What was entered stays there when something is refused.
    again = html_of(form, schema, FILLED)
    assert 'value="7"' in again
    assert 'value="1" checked' in again
    assert "one\r\ntwo</textarea>" in again


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("f.count", "seven", "How many: must be a whole number, got 'seven'"),
        ("f.price", "nan", "Price: must be a number"),
        ("f.verdict", '"maybe"', "Verdict: must be one of the choices"),
        ("f.verdict", "yes", "Verdict: must be one of the choices"),
        ("f.tags", "[", "Tags: must be JSON"),
    ],
)
def test_what_a_field_cannot_hold_is_refused_by_its_name(name: str, text: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as refused:
        payload_of(form_of(schema_of(Order)), {**FILLED, name: text})
    assert refused.value.path == ("payload", name.removeprefix("f."))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (bool, "true", True),
        (int, "7", 7),
        (Literal["a", "b"], '"b"', "b"),
        (Annotated[str, Field(max_length=50)], "yes", "yes"),
        (date, "2026-03-01", "2026-03-01"),
    ],
)
def test_a_payload_that_is_one_value_has_one_field(kind: Any, text: str, value: object) -> None:
    form = form_of(schema_of(kind))
    assert (form.names, payload_of(form, {"f.": text})) == (("f.",), value)


def test_what_no_form_can_ask_for_is_asked_for_as_json() -> None:
    many = {"type": "object", "properties": {f"n{number}": {"type": "string"} for number in range(MAX_FIELDS + 1)}}
    for schema in (schema_of(list[int]), {}, many, {"$ref": "#/$defs/no"}, {"$ref": "#"}):
        assert form_of(schema).names == ("payload",)
        assert "Answer, as JSON" in html_of(form_of(schema), schema, {})
    assert form_of(None).names == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class Seen(HTMLParser):
    """What a reader sees of a shown value, as the dashboard's rules put it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.shown: dict[str, Any] = {"kind": "nothing"}
        self._place: list[dict[str, Any]] = []
        self._text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "br" and not attrs:
            self._text += "\n"
            return
        self._text = ""
        match tag:
            case "dl":
                self.shown = {"kind": "members", "members": []}
            case "dd" | "div" if tag == "dd" or self.shown == {"kind": "nothing"}:
                self._place = [{"kind": "text", "text": ""}]
            case "ul":
                self._place = [{"kind": "list", "items": []}]
            case "table":
                self._place = [{"kind": "table", "names": [], "rows": []}]
            case "pre":
                self._place = [{"kind": "json", "text": ""}]
            case "tr" if "rows" in self._place[0]:
                self._place[0]["rows"].append([])
            case _:
                pass

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        match tag:
            case "dt":
                self.shown["members"].append([self._text])
            case "th":
                self._place[0]["names"].append(self._text)
            case "td":
                self._place[0]["rows"][-1].append(self._text)
            case "li":
                self._place[0]["items"].append(self._text)
            case "thead":
                self._place[0]["rows"].clear()
            case "pre":
                self._place[0]["text"] = self._text
            case "dd" | "div" if self._place:
                self._end(tag)
            case _:
                pass

    def _end(self, tag: str) -> None:
        found = self._place[0]
        if found["kind"] == "text":
            found["text"] = self._text
        if tag == "dd":
            self.shown["members"][-1].append(found)
        elif self.shown["kind"] == "nothing":
            self.shown = found
        if tag == "dd":
            self._place = []


def test_a_value_is_looked_at_as_in_the_dashboard() -> None:
    cases = json.loads((ROOT / "web/src/model/shown.json").read_text("utf-8"))
    assert [Seen(shown_html(case["value"])).shown for case in cases] == [case["shown"] for case in cases]


@pytest.mark.costly
@given(JSON)
def test_whatever_is_shown_is_escaped(value: Any) -> None:
    html = shown_html({"<script>": value})
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.costly
@given(st.dictionaries(st.text(min_size=1), JSON, max_size=4))
def test_no_schema_breaks_the_form(schema: dict[str, Any]) -> None:
    form = form_of({"type": "object", "properties": {"<i>": schema}})
    assert "<i>" not in html_of(form, schema, {})


def test_a_page_that_cannot_be_shown_is_refused_where_it_is_made() -> None:
    wrong: dict[str, Any]
    for wrong, says in (
        ({"title": ""}, "title: must have at least 1 character"),
        ({"confirm": "x" * 61}, "confirm: must have at most 60 characters"),
        ({"redirect": "javascript:alert(1)"}, "redirect: must be an address that begins with https://"),
        ({"redirect": "https://a.example/; script-src *"}, "redirect: must be an address"),
        ({"shows": {"n": "x" * 100_001}}, "shows: must have at most 100,000 characters"),
        ({"shows": object()}, "payload: must be JSON"),
    ):
        with pytest.raises((UserError, SeveralFaults), match=says):
            AnswerPage(**wrong)
    page = AnswerPage(title="x", reject=None, shows=[1])
    assert AnswerPage.from_json({**page.to_json(), "newer": 1}) == page
