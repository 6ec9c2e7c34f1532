"""Runs the Python blocks of documents as they are printed, in one process with a node: `run_python FILE… URL SERVER`.

Blocks that declare something (`@job`, `@resource`, …) are executed first, then a node is started that runs what they
declare, and then the other blocks in their order, in the same namespace. Functions named `test_…` are called at last.
The addresses that the documents use are those of the test.
"""

import ast
import asyncio
import contextlib
import inspect
import sys
import types
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cronograph.jobs.base.services import Services
from cronograph.jobs.registry import default_registry
from cronograph.jobs.runtime.base.settings import EngineSettings
from cronograph.jobs.runtime.engine import Engine
from cronograph.jobs.store.db.database import Database
from tests.docs.blocks import Block, blocks_of

DECLARES = ("@job", "@around", "@resource", "@carries")


def declares(block: Block) -> bool:
    """Return whether a block declares what a node needs before it starts."""
    return any(line.startswith(DECLARES) for line in block.text.splitlines())


async def execute(block: Block, text: str, namespace: dict[str, Any]) -> None:
    """Execute a block; it may await at its top level."""
    code = compile("\n" * (block.line - 1) + text, block.place, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    pending = eval(code, namespace)
    if inspect.isawaitable(pending):
        await pending


async def run(blocks: Iterable[Block], database_url: str, server: str) -> None:
    """Execute the blocks of these documents."""
    module = types.ModuleType("document")
    sys.modules["document"] = module
    namespace = module.__dict__
    words = {
        "postgresql+psycopg://shop@db/shop": database_url.replace("postgresql:", "postgresql+psycopg:"),
        "postgresql://shop@db/shop": database_url,
        "http://localhost:8000": server,
        "Client() as": f'Client("{server}") as',
    }
    several = [block for block in blocks if block.language == "python" and block.runs_here]
    texts = {block.place: block.text for block in several}
    for written, meant in words.items():
        texts = {place: text.replace(written, meant) for place, text in texts.items()}
    for block in filter(declares, several):
        await execute(block, texts[block.place], namespace)
    database = Database(database_url)
    engine = Engine(
        Services(database), default_registry(), EngineSettings(poll=0.2, executors={"command": {"launch": "true"}})
    )
    await engine.start()
    try:
        for block in several:
            if not declares(block):
                # A client of the document must not keep the node from turning.
                await asyncio.to_thread(asyncio.run, execute(block, texts[block.place], namespace))
        for name, test in list(namespace.items()):
            if name.startswith("test_"):
                await (test() if inspect.iscoroutinefunction(test) else asyncio.to_thread(test))
    finally:
        await engine.stop()
        await database.close()


if __name__ == "__main__":
    *paths, url, address = sys.argv[1:]
    blocks = [block for path in paths for block in blocks_of(Path(path))]
    # Databases and files that blocks make lie here.
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        asyncio.run(run(blocks, url, address))
