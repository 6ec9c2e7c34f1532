"""The folder of a project, which is the working directory."""

from pathlib import Path

import pytest

from tests.server.importing.projects import written

WORK = "def one(a=1, b=2): ...\ndef two(*args): ...\ndef sync(): ...\ndef clean(): ...\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return written(tmp_path, work=WORK)
