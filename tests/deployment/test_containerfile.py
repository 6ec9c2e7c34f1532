"""The container file, line by line in a clean folder: here is no engine that could build it."""

import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import httpx
import pytest

from tests.deployment.containerfile import environment, read
from tests.support.ports import free_port
from tests.support.waiting import wait_until
from tests.support.web import get

pytestmark = pytest.mark.timeout(180)


def test_every_line_is_of_a_kind_that_is_tried() -> None:
    kinds = {line.instruction for line in read()}
    assert kinds == {
        "FROM", "RUN", "COPY", "WORKDIR", "ENV", "USER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"
    }  # fmt: skip


def done(words: list[str], folder: Path) -> None:
    """Run a command to its good end."""
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def is_ready(port: int) -> bool:
    try:
        return get(f"http://127.0.0.1:{port}/health/ready").status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.costly
def test_its_lines_make_a_server_that_is_healthy_and_stops_when_it_is_asked_to(tmp_path: Path, sqlite_url: str) -> None:
    """What each line says is done below `tmp_path`; libraries come from this environment instead of the index."""
    lines, root = read(), tmp_path / "root"
    home = tmp_path / "srv"
    (home / "shop").mkdir(parents=True)
    (home / "shop" / "jobs.py").write_text(
        "from cronograph.jobs import job\n\n@job('sold')\nasync def sold() -> None: ...\n"
    )
    (tmp_path / "requirements.txt").write_text("cronograph[server]\n")
    for asked in (line.rest for line in lines if line.instruction == "RUN"):
        words = asked.replace("/opt/cronograph", str(root)).split()
        if words[0] == "useradd":
            # Only root may; that its words are right is all that is seen here.
            assert words[1:5] == ["--system", "--uid", "10001", "--home-dir"]
            continue
        if words[-1] == "requirements.txt":
            assert words[1:3] == ["install", "--no-cache-dir"]
            libraries = next(root.glob("lib/python3.*/site-packages"))
            (libraries / "libraries.pth").write_text(
                f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
            )
            into = ["--python", str(root / "bin" / "python"), *words[1:], "--no-index", "--no-deps", "--quiet"]
            words = [sys.executable, "-m", "pip", *into]
        else:
            # pip takes ten seconds to be put there; that of this environment installs as well.
            words = [sys.executable, *words[1:], "--without-pip"]
        done(words, tmp_path)
    script = (Path(sysconfig.get_path("scripts")) / "cronograph").read_text()
    (root / "bin" / "cronograph").write_text(f"#!{root}/bin/python\n{script.partition(chr(10))[2]}")
    (root / "bin" / "cronograph").chmod(0o755)

    port = free_port()
    said = environment(lines)
    assert (said.pop("CRONOGRAPH_HOST"), said.pop("CRONOGRAPH_PORT")) == ("0.0.0.0", "8000")
    path = said.pop("PATH").replace("/opt/cronograph", str(root))
    own = {"CRONOGRAPH_HOST": "127.0.0.1", "CRONOGRAPH_PORT": str(port), "CRONOGRAPH_DATABASE_URL": sqlite_url}
    env = {**said, **own, "PATH": f"{path}:{os.environ['PATH']}", "CRONOGRAPH_NO_AUTH": "true"}
    entry, command, health = (
        next(line for line in lines if line.instruction == name) for name in ("ENTRYPOINT", "CMD", "HEALTHCHECK")
    )
    server = subprocess.Popen([*entry.words, *command.words], cwd=home, env=env, stderr=subprocess.PIPE, text=True)
    test = [word.replace(":8000", f":{port}") for word in health.words]
    try:
        wait_until(lambda: is_ready(port), within=60)
        assert subprocess.run(test, env=env, capture_output=True, check=False).returncode == 0
        stop = next(line.rest for line in lines if line.instruction == "STOPSIGNAL")
        server.send_signal(getattr(signal, stop))
        _, errors = server.communicate(timeout=60)
    finally:
        server.kill()
    assert server.returncode == 0, errors
    assert subprocess.run(test, env=env, capture_output=True, check=False).returncode == 1, "it is not healthy any more"
