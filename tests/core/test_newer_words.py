"""What a node of a newer version has published is read as far as this version knows its words."""

from cronograph.jobs.core.limits import UniqueKey
from cronograph.jobs.store.schema.rows import defaults_from


def test_a_unique_key_with_a_word_of_a_newer_version_is_made_by_the_job_alone() -> None:
    stored = UniqueKey(("order",), "orders-{order}").to_json()
    assert UniqueKey.from_json(stored) == UniqueKey(("order",), "orders-{order}")
    newer = UniqueKey.from_json({**stored, "window": 60})
    assert newer == UniqueKey(in_code=True)
    assert newer.of("work", {"order": 7}) is None


def test_what_a_newer_version_says_of_a_job_beside_what_is_known_is_ignored() -> None:
    found = defaults_from({"retries": 3, "patience": 7, "unique_key": {"arguments": [], "window": 60}})
    assert (found.retries, found.unique_key) == (3, UniqueKey(in_code=True))
