"""The version of the installation."""

import sys

import pytest

from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.server.base.version import installed_version


def test_a_folder_that_is_not_installed_is_refused_and_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(ConfigurationError, match="must be installed"):
        installed_version()
