"""A service manager is told when the server is ready and when it stops, and the documented unit is in order."""

import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from tests.docs.blocks import all_blocks
from tests.support.processes import COMMAND, ProcessStarter


@pytest.mark.costly
@pytest.mark.parametrize("is_abstract", [False, True])
def test_the_manager_is_notified(processes: ProcessStarter, sqlite_url: str, tmp_path: Path, is_abstract: bool) -> None:
    name = f"cronograph-{tmp_path.name}" if is_abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{name}" if is_abstract else name)
        manager.settimeout(30)
        server = processes.serve(sqlite_url, env={"NOTIFY_SOCKET": f"@{name}" if is_abstract else name})
        assert manager.recv(100) == b"READY=1"
        assert server.stop() == 0
        assert manager.recv(100) == b"STOPPING=1"


def test_an_unavailable_manager_stops_nothing(processes: ProcessStarter, sqlite_url: str, tmp_path: Path) -> None:
    server = processes.serve(sqlite_url, env={"NOTIFY_SOCKET": str(tmp_path / "nobody")})
    assert server.stop() == 0
    assert "cannot receive READY=1" in server.output()


def test_the_documented_unit_is_in_order(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is missing: apt-get install systemd")
    (unit,) = (
        one.text for one in all_blocks() if one.document == "docs/deployment.md" and one.text.startswith("[Unit]")
    )
    file = tmp_path / "cronograph.service"
    file.write_text(unit.replace("/srv/cronograph/.venv/bin/cronograph", str(COMMAND)))
    done = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "cronograph" in line]) == (0, [])
    file.write_text(file.read_text().replace("Restart=on-failure", "Restart=perhaps"))
    done = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True, check=False)
    assert "perhaps" in done.stderr, "the check can fail"
