"""The container file, line by line in a clean folder: here is no engine that could build it."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path, PurePosixPath

import httpx
import pytest

from tests.deployment.containerfile import Line, environment, read
from tests.support.ports import free_port
from tests.support.sources import ROOT
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
    env = {**os.environ, "CRONOGRAPH_SKIP_WEB": "1"}
    ended = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def is_ready(port: int) -> bool:
    try:
        return get(f"http://127.0.0.1:{port}/health/ready").status_code == 200
    except httpx.TransportError:
        return False


def checkout(folder: Path) -> Path:
    """Return a copy of what `--build-context cronograph=` hands over of a fresh checkout."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    for name in filter(None, listed.split("\0")):
        if not is_ignored(name, rules) and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def is_ignored(name: str, rules: list[str]) -> bool:
    """Judge a file by the last rule that is for it or for a folder of it."""
    path = PurePosixPath(name)
    ignored = False
    for rule in rules:
        pattern = rule.removeprefix("!")
        anywhere = pattern.removeprefix("**/") if pattern.startswith("**/") else None
        if anywhere in path.parts or pattern in ("*", name, *map(str, path.parents)):
            ignored = not rule.startswith("!")
    return ignored


def test_what_is_handed_over_of_a_checkout_is_what_the_wheel_is_built_from(tmp_path: Path) -> None:
    source = checkout(tmp_path)
    folders = {path.name for path in source.iterdir() if path.is_dir()}
    assert folders == {"entry", "graphql", "jobs", "migrations", "server", "web"}
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    assert all((source / name).is_file() for name in (project["readme"], *project["license-files"], "MANIFEST.in"))
    assert not (source / "server" / "static").exists()


def copied(lines: list[Line], source: Path, home: Path, root: Path) -> None:
    """Judge what is copied: it is there, in a checkout of Cronograph or in the folder of the jobs."""
    for words in (line.rest.split() for line in lines if line.instruction == "COPY"):
        start = {"--from=cronograph": source, "--from=build": root}.get(words[0], home)
        name = words[-2] if words[0] != "--from=build" else "."
        assert (start / name).exists(), words


def run_as_asked(asked: str, *, home: Path, root: Path, source: Path) -> None:
    """Do what a RUN line says below `root`, with libraries of this environment instead of those of the index."""
    words = asked.replace("/opt/cronograph", str(root)).split()
    if words[0] == "useradd":
        # Only root may; that its words are right is all that is seen here.
        assert words[1:5] == ["--system", "--uid", "10001", "--home-dir"]
        return
    if words[1] == "install":
        assert words[2] == "--no-cache-dir"
        libraries = next(root.glob("lib/python3.*/site-packages"))
        (libraries / "libraries.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
        here = [word.replace("/usr/src/cronograph", str(source)) for word in words[1:]]
        into = ["--python", str(root / "bin" / "python"), *here, "--no-index", "--no-deps", "--quiet"]
        words = [sys.executable, "-m", "pip", *into, "--no-build-isolation", "--force-reinstall"]
    else:
        # pip takes ten seconds to be put there; that of this environment installs as well.
        words = [sys.executable, *words[1:], "--without-pip"]
    done(words, home)


@pytest.mark.costly
def test_its_lines_make_a_server_that_is_healthy_and_stops_when_it_is_asked_to(tmp_path: Path, sqlite_url: str) -> None:
    """What each line says is done below `tmp_path`; libraries come from this environment instead of the index."""
    lines, root = read(), tmp_path / "root"
    home = tmp_path / "srv"
    (home / "shop").mkdir(parents=True)
    (home / "shop" / "jobs.py").write_text(
        "from cronograph.jobs import job\n\n@job('sold')\nasync def sold() -> None: ...\n"
    )
    (home / "requirements.txt").write_text("")
    source = checkout(tmp_path / "source")
    # The dashboard as it is built here: that of a container is built by the Node that PyPI has.
    shutil.copytree(ROOT / "server" / "static", source / "server" / "static")
    for asked in (line.rest for line in lines if line.instruction == "RUN"):
        run_as_asked(asked, home=home, root=root, source=source)
    copied(lines, source, home, root)
    installed = next(root.glob("lib/python3.*/site-packages/cronograph/server/static/index.html"))
    assert installed.is_file(), "the dashboard is a part of it"

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
