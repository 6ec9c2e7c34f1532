"""The address of an attempt's page at its engine is made of the setting, its handle and its name."""

from dataclasses import replace

from cronograph.graphql.types.run import page_of
from tests.core.test_remote import SUBMITTED


def test_the_page_of_an_attempt_names_its_handle_or_its_name() -> None:
    assert page_of(SUBMITTED) is None
    paged = replace(SUBMITTED, page="https://hpc.example.com/{handle}?name={name}", handle="a/7 b")
    assert page_of(paged) == "https://hpc.example.com/a%2F7%20b?name=cronograph-1"
    assert page_of(replace(paged, handle=None)) is None
    assert page_of(replace(paged, page="https://ray:8265/#/jobs/{name}", handle=None)) == (
        "https://ray:8265/#/jobs/cronograph-1"
    )
