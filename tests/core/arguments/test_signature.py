"""A signature tells versions of a job apart that take different arguments, and no others."""

from typing import Any

from cronograph.jobs.core.base.signature import foreign_to, signature_of

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"title": {"type": "string", "title": "Title"}, "count": {"type": "integer"}},
    "required": ["title"],
}


def test_the_order_of_keys_and_the_texts_for_people_do_not_matter() -> None:
    reordered = {
        "required": ["title"],
        "description": "New words.",
        "properties": {"count": {"type": "integer", "title": "Count"}, "title": {"type": "string"}},
        "type": "object",
    }
    assert signature_of("work", SCHEMA) == signature_of("work", reordered)


def test_arguments_of_another_name_or_type_and_another_job_have_another_signature() -> None:
    renamed = {**SCHEMA, "properties": {"name": {"type": "string"}, "count": {"type": "integer"}}}
    retyped = {**SCHEMA, "properties": {**SCHEMA["properties"], "count": {"type": "number"}}}
    without = {**SCHEMA, "properties": {"count": {"type": "integer"}}}
    words = {signature_of("work", schema) for schema in (SCHEMA, renamed, retyped, without)}
    assert len({*words, signature_of("play", SCHEMA)}) == 5


def test_foreign_is_what_others_have_of_ones_own_jobs_only() -> None:
    assert foreign_to({"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "4"}) == {"3"}
