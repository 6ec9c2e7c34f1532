"""Jobs at engines, which leave a witness outside of the database. Nodes of the chaos suite load a copy of this file."""

import os
import time

from cronograph.jobs import JobContext, Result, job

PAUSE = 0.1


def testify(what: str, ctx: JobContext) -> None:
    """Leave a trace outside the database."""
    with open("witness.txt", "ab", buffering=0) as witness:  # noqa: PTH123 - without a buffer
        os.write(witness.fileno(), f"{what} {ctx.run_id} {ctx.attempt} {time.time()}\n".encode())


def there(ctx: JobContext, seconds: float = 0.5) -> Result:
    """Never asks whether to stop, so that whoever starts it twice is found out."""
    testify("begin", ctx)
    ctx.log.info("begun")
    first = ctx.step_sync("first", done_once, ctx)
    over = time.monotonic() + seconds
    while (left := over - time.monotonic()) > 0:
        testify("act", ctx)
        ctx.progress(1, 2)
        time.sleep(min(left, PAUSE))
    testify("end", ctx)
    return Result(records_processed=1, value=first)


def done_once(ctx: JobContext) -> int:
    """A step."""
    testify("step:first", ctx)
    return ctx.attempt


at_command = job("at command", isolation="command")(there)
at_box = job("at box", isolation="box")(there)
at_slurm = job("at slurm", isolation="slurm")(there)
at_kubernetes = job("at kubernetes", isolation="kubernetes")(there)

ENGINE_JOBS = ("at command", "at box", "at slurm", "at kubernetes")
