"""What the documents print is what runs: every code block is executed, or says why it cannot be."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphql import OperationDefinitionNode, OperationType, build_schema, parse, print_ast, validate
from tests.docs.blocks import FENCE, Block, all_blocks, documents
from tests.support.forking import Nursery
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.requirements import unavailable
from tests.support.sources import ROOT
from tests.support.web import open_client

BLOCKS = all_blocks()
RUN = [block for block in BLOCKS if block.reason is None]
LANGUAGES = {"python", "sh", "graphql", "toml", "json", "text"}
"""What can be run here; a text is only shown."""
NOT_RUN = 11
"""So many blocks say that they cannot be run by themselves; a new one needs a reason better than any of theirs."""


def blocks_in(*languages: str) -> list[Block]:
    """The blocks to run that are written in these languages."""
    return [block for block in RUN if block.language in languages]


def test_every_block_can_be_run_or_says_why_not() -> None:
    fences = sum(len(FENCE.findall(path.read_text(encoding="utf-8"))) for path in documents())
    assert fences == 2 * len(BLOCKS), "a fence is open, or its first line is of no known form"
    assert [block.place for block in RUN if block.language not in LANGUAGES] == []
    reasons = Counter(block.reason for block in BLOCKS if block.reason is not None)
    assert sum(reasons.values()) <= NOT_RUN, reasons


@pytest.fixture(scope="module")
def my_server(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Iterator[CronographProcess]:
    """`cronograph serve --jobs my_jobs` with the jobs of README, and those that the guide of the API names."""
    folder = tmp_path_factory.mktemp("my_jobs")
    (readme,) = (block for block in BLOCKS if block.text.startswith("# my_jobs.py"))
    others = '\n@job\ndef report(days: int = 1) -> None: ...\n\n\n@job\ndef mail(to: str = "") -> None: ...\n'
    (folder / "my_jobs.py").write_text(readme.text + others)
    processes = ProcessStarter(folder, nursery)
    yield processes.serve(f"sqlite:///{folder / 'my.db'}", "--jobs", "my_jobs")
    processes.end_all()


@pytest.mark.parametrize("document", sorted({block.document for block in blocks_in("python")}))
def test_python_runs_as_it_is_printed(
    document: str, postgres_url: str, my_server: CronographProcess, nursery: Nursery, tmp_path: Path
) -> None:
    words = ["-m", "tests.docs.run_python", str(ROOT / document), postgres_url, my_server.url]
    said = tmp_path / "output"
    with said.open("wb") as output:
        run = nursery.start(words, ROOT, {**os.environ, "CRONOGRAPH_URL": my_server.url}, output.fileno())
    try:
        assert run.wait(120) == 0, said.read_text()
    finally:
        run.kill()


@pytest.mark.parametrize("block", blocks_in("graphql"), ids=lambda block: block.place)
def test_graphql_is_answered_without_errors(block: Block, my_server: CronographProcess) -> None:
    document = parse(block.text)
    schema = build_schema((ROOT / "graphql" / "schema.graphql").read_text())
    with open_client(my_server.url) as client:
        for one in document.definitions:
            assert isinstance(one, OperationDefinitionNode)
            assert validate(schema, parse(print_ast(one))) == []
            if one.operation is OperationType.SUBSCRIPTION:
                continue
            answer = client.post("/graphql", json={"query": print_ast(one)}).json()
            assert "errors" not in answer, answer
            assert [field for field in answer["data"].values() if field and field.get("errors")] == []


@pytest.mark.parametrize("block", blocks_in("sh"), ids=lambda block: block.place)
def test_commands_end_well(block: Block, my_server: CronographProcess, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        unavailable("curl", "as root, apt-get install curl")
    for line in block.text.replace("\\\n", "").splitlines():
        words = shlex.split(line, comments=True)
        if words[:2] == ["cronograph", "serve"]:
            assert words[2:] == ["--jobs", "my_jobs"], "the server of this test was started so"
            continue
        if words and words[0] == "cronograph":
            words[0] = str(Path(sys.executable).with_name("cronograph"))
        here = [re.sub(r"^(http://)?localhost:8000", my_server.url, word) for word in words]
        environment = {**os.environ, "CRONOGRAPH_URL": my_server.url, "no_proxy": "*"}
        done = subprocess.run(here, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        if words[:1] == ["curl"]:
            assert "errors" not in json.loads(done.stdout), done.stdout


def test_settings_and_data_can_be_read() -> None:
    for block in blocks_in("toml"):
        tomllib.loads(block.text)
    for block in blocks_in("json"):
        json.loads(block.text)
