"""A `cronograph` for shells that is forked instead of started: what scripts do, without a second of imports a line."""

import json
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.forking import Nursery
from tests.support.processes import COMMAND, ProcessStarter

_PROGRAM = """#!{python} -ES
import json, os, socket, stat, sys
kind = os.fstat(0).st_mode
if stat.S_ISREG(kind) or stat.S_ISFIFO(kind):
    os.execv({command!r}, [{command!r}, *sys.argv[1:]])  # it may want to read that
asked = {{"words": sys.argv[1:], "folder": os.getcwd(), "env": dict(os.environ)}}
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    server.sendall(json.dumps(asked).encode())
    server.shutdown(socket.SHUT_WR)
    answer = json.loads(b"".join(iter(lambda: server.recv(65536), b"")))
sys.stdout.write(answer["said"])
sys.exit(answer["status"])
"""


@contextmanager
def forked_command(folder: Path, nursery: Nursery) -> Iterator[Path]:
    """A folder for `PATH` with a `cronograph` that takes its arguments to real processes; what these say is its output.

    Args:
        folder: Where it is put; shells must have a standard input that is no file and no pipe.
        nursery: Where the processes are forked.
    """
    place = folder / "commands"
    place.mkdir()
    # The name of a socket must be short.
    address = f"/tmp/cronograph-{id(place):x}.sock"

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            asked = json.loads(self.rfile.read())
            status, said = ProcessStarter(Path(asked["folder"]), nursery).run(*asked["words"], env=asked["env"])
            self.wfile.write(json.dumps({"status": status, "said": said}).encode())

    with socketserver.UnixStreamServer(address, Handler) as server:
        program = place / "cronograph"
        program.write_text(_PROGRAM.format(python=sys.executable, command=str(COMMAND), address=address))
        program.chmod(0o755)
        thread = threading.Thread(target=server.serve_forever, name="commands")
        thread.start()
        try:
            yield place
        finally:
            server.shutdown()
            thread.join()
            Path(address).unlink()


def shell(text: str, folder: Path, env: Mapping[str, str]) -> tuple[int, str, str]:
    """Run lines by a shell that stops at the first failure: its status, and what it said on each of its outputs."""
    done = subprocess.run(
        ["sh", "-ec", text],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr
