"""The garbage collector of a process that serves."""

import subprocess
import sys

from cronograph.server.process.lifecycle import YOUNG


def printed(code: str) -> list[str]:
    """Run code in a process of its own: in this one it would hold for all other tests."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.split()


def test_what_is_there_when_a_server_begins_is_not_looked_at_again() -> None:
    code = (
        "import gc, asyncio; from cronograph.server.process.lifecycle import leave_out_what_stays as leave_out; "
        "leave_out(); print(len(gc.get_objects()) < gc.get_freeze_count(), gc.get_threshold()[0])"
    )
    assert printed(code) == ["True", str(YOUNG)]


def test_the_imports_of_a_command_are_not_searched_for_garbage_again_and_again() -> None:
    code = (
        "import gc, sys; from cronograph.__main__ import main; sys.argv = ['cronograph', 'version', '--help']\n"
        "try: main()\n"
        "except SystemExit: print('collections:', sum(one['collections'] for one in gc.get_stats()) < 50)"
    )
    assert printed(code)[-2:] == ["collections:", "True"]
