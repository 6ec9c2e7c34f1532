"""The rules of accounts and of signing in, as tables."""

from datetime import UTC, datetime, timedelta

import pytest

from cronograph.jobs.accounts.rules.accounts import check_account_name, check_password, name_key
from cronograph.jobs.accounts.rules.credentials import (
    ACCOUNT_THROTTLE,
    ADDRESS_THROTTLE,
    account_subject,
    address_subject,
    counted_failures,
    pause_after,
)
from cronograph.jobs.accounts.rules.sessions import session_end
from cronograph.jobs.core.actor import Role, lesser
from cronograph.jobs.core.base.errors import InvalidInput

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def test_each_role_includes_those_before_it() -> None:
    roles = list(Role)
    assert [[one.includes(other) for other in roles] for one in roles] == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]
    assert lesser(Role.ADMIN, Role.VIEWER) is lesser(Role.VIEWER, Role.ADMIN) is Role.VIEWER


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0), (5, 0), (6, 1), (7, 2), (8, 4), (11, 32), (12, 60), (99, 60)]
)
def test_the_pause_after_wrong_passwords_for_an_account(failures: int, seconds: float) -> None:
    assert pause_after(ACCOUNT_THROTTLE, failures) == timedelta(seconds=seconds)


@pytest.mark.parametrize(("failures", "seconds"), [(20, 0), (21, 1), (30, 512), (31, 900), (10**9, 900)])
def test_the_pause_after_wrong_passwords_from_an_address(failures: int, seconds: float) -> None:
    assert pause_after(ADDRESS_THROTTLE, failures) == timedelta(seconds=seconds)


def test_failures_are_forgotten_after_a_day() -> None:
    assert counted_failures(9, NOW - timedelta(hours=24), NOW) == 9
    assert counted_failures(9, NOW - timedelta(hours=24, microseconds=1), NOW) == 0


@pytest.mark.parametrize(
    ("address", "subject"),
    [
        ("192.0.2.7", "address:192.0.2.7"),
        ("::ffff:192.0.2.7", "address:192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "address:2001:db8:1:2::/64"),
        ("fe80::1%eth0", "address:fe80::/64"),
        ("unknown", "address:unknown"),
    ],
)
def test_an_address_counts_as_the_customer_behind_it(address: str, subject: str) -> None:
    assert address_subject(address) == subject


def test_what_was_typed_as_a_name_is_not_in_its_subject() -> None:
    assert "hunter" not in account_subject("hunter2")


def test_a_session_ends_eight_hours_after_its_use_and_a_day_after_its_begin() -> None:
    hour = timedelta(hours=1)
    assert session_end(NOW, NOW) == NOW + 8 * hour
    assert session_end(NOW, NOW + 20 * hour) == NOW + 24 * hour


@pytest.mark.parametrize("name", ["Ada", "ada@example.com", "ADA LOVELACE", "Zoë", "李"])
def test_names_of_people_are_names(name: str) -> None:
    assert check_account_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", " ada", "a/b", "a\nb", "a\0b", "ada\u202e", "ada\u200b", "a\u2066b", "x" * 101, "Local Administrator"],
    ids=ascii,
)
def test_names_that_deceive_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"^name: must"):
        check_account_name(name)


def test_names_that_look_the_same_are_the_same() -> None:
    assert name_key("ADA") == name_key("ada") == name_key("\uff21da")
    assert check_account_name("Zoe\u0308") == "Zoë"


@pytest.mark.parametrize(
    "password", ["short", "x" * 1025, "aaaaaaaaaaaaaaa", "abababababababab", "ada lovelace", "a\0" * 9]
)
def test_passwords_that_resist_nobody_are_refused_without_being_shown(password: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_password(password, "Ada Lovelace")
    assert password not in str(refusal.value)


def test_a_sentence_is_a_password() -> None:
    check_password("correct horse battery staple", "ada")
