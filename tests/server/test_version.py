"""The version of the installation."""

import json
import subprocess
import sys

import pytest

from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.server.process.version import commit, installed_version
from tests.support.processes import ProcessStarter
from tests.support.sources import ROOT
from tests.support.web import get


def test_the_commit_of_a_checkout_is_named_by_the_command_and_by_the_metrics(
    processes: ProcessStarter, sqlite_url: str
) -> None:
    asked = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    head = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    assert json.loads(processes.run("version", "--json")[1])["commit"] == commit() == head
    assert f"(commit {head[:12]}, schema " in processes.run("version")[1]
    info = f'cronograph_node_info{{node="n",version="{installed_version()}",commit="{head}"}} 1'
    assert info in get(f"{processes.serve(sqlite_url, '--node-name', 'n').url}/metrics").text


def test_a_folder_that_is_not_installed_is_refused_and_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(ConfigurationError, match="must be installed"):
        installed_version()
