"""The garbage collector of a process that serves."""

import subprocess
import sys

from cronograph.server.process.lifecycle import YOUNG


def test_what_is_there_when_a_server_begins_is_not_looked_at_again() -> None:
    # In a process of its own: in this one it would hold for all other tests.
    code = (
        "import gc, asyncio; from cronograph.server.process.lifecycle import leave_out_what_stays as leave_out; "
        "leave_out(); print(len(gc.get_objects()) < gc.get_freeze_count(), gc.get_threshold()[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["True", str(YOUNG)]
