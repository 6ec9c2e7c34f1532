"""What an application says about its visitors is refused where it says it, if it cannot be."""

import pytest

from cronograph.jobs import ConfigurationError
from cronograph.server import Visitor


def test_a_role_that_there_is_not_is_named_with_its_visitor() -> None:
    with pytest.raises(ConfigurationError, match=r"role: must be one of 'viewer', .*, got 'boss' for visitor 'ada'"):
        Visitor("ada", "boss")
    assert [Visitor("ada", role).role for role in ("viewer", "operator", "admin")] == ["viewer", "operator", "admin"]
