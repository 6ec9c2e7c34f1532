"""What the documents print is what runs: every code block is executed, or says why it cannot be."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from cronograph.server.configuration.reading import load
from cronograph.server.configuration.settings import Settings
from graphql import OperationDefinitionNode, OperationType, parse, print_ast, validate
from tests.docs.blocks import FENCE, Block, all_blocks, documents
from tests.generation.cli_answers import committed_schema
from tests.server.auth.serving import PASSWORD
from tests.server.test_exposure import TLS
from tests.support.forking import Nursery
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.requirements import unavailable
from tests.support.shell import forked_command, shell
from tests.support.sources import ROOT
from tests.support.waiting import wait_until
from tests.support.web import open_client

BLOCKS = all_blocks()
RUN = [block for block in BLOCKS if block.runs_here]
LANGUAGES = {"python", "sh", "graphql", "toml", "json", "text"}
"""What is run here; a text is only shown."""
NOT_RUN = 13
"""So many blocks are run by no test; a new one needs a reason better than any of theirs. CONTRIBUTING lists them."""
OF_OTHERS = "code of "
"""How the reason of a block of another program, or of a mistake, begins."""
SETTINGS = {f"CRONOGRAPH_{name.upper()}" for name in Settings.model_fields}
OTHER_VARIABLES = {
    "CRONOGRAPH_ATTEMPT_TOKEN",
    "CRONOGRAPH_ATTEMPT_URL",
    "CRONOGRAPH_CONFIG",
    "CRONOGRAPH_PING_KEY",
    "CRONOGRAPH_TEST_POSTGRES_BIN",
    "CRONOGRAPH_TOKEN",
    "CRONOGRAPH_URL",
}


def blocks_in(*languages: str) -> list[Block]:
    """The blocks to run that are written in these languages."""
    return [block for block in RUN if block.language in languages]


def block_of(document: str, beginning: str) -> Block:
    """The one block of a document that begins so."""
    (found,) = (block for block in BLOCKS if block.document == document and block.text.startswith(beginning))
    return found


def test_every_block_is_run_or_says_why_not() -> None:
    fences = sum(len(FENCE.findall(path.read_text(encoding="utf-8"))) for path in documents())
    assert fences == 2 * len(BLOCKS), "a fence is open, or its first line is of no known form"
    assert [block.place for block in RUN if block.language not in LANGUAGES] == []
    told = [block.reason for block in BLOCKS if block.reason is not None]
    reasons = Counter(reason for reason in told if not reason.startswith(OF_OTHERS))
    assert sum(reasons.values()) <= NOT_RUN, reasons


def test_no_block_hides_by_being_indented() -> None:
    fenced = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    hidden = [
        f"{path.name}: {line.strip()}"
        for path in documents()
        for before, line in pairwise(fenced.sub("", path.read_text(encoding="utf-8")).splitlines())
        if line.startswith("    ") and not before.strip()
    ]
    assert hidden == []


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.test is not None], ids=lambda block: block.place)
def test_the_test_that_is_said_to_run_a_block_reads_its_document(block: Block) -> None:
    assert block.test is not None
    assert Path(block.document).name in (ROOT / block.test).read_text(encoding="utf-8")


def test_each_recipe_of_the_cookbook_is_a_question_with_an_answer_that_is_run() -> None:
    document = "docs/cookbook.md"
    lines = (ROOT / document).read_text(encoding="utf-8").splitlines()
    begin = [place for place, line in enumerate(lines, 1) if line.startswith("### ")]
    assert [lines[place - 1][4:].partition(". ")[0] for place in begin] == [str(number) for number in range(1, 16)]
    assert [lines[place - 1] for place in begin if not lines[place - 1].endswith("?")] == []
    run = [block.line for block in RUN if block.document == document]
    ends = [*begin[1:], len(lines)]
    assert [place for place, end in zip(begin, ends, strict=True) if not any(place < line < end for line in run)] == []


def test_every_variable_that_is_named_is_one() -> None:
    pages = [path.read_text(encoding="utf-8") for path in [*documents(), ROOT / "CONTRIBUTING.md"]]
    named = {name for text in pages for name in re.findall(r"\bCRONOGRAPH_[A-Z_]+\b", text)}
    assert named - SETTINGS <= OTHER_VARIABLES


@pytest.fixture(scope="module")
def my_server(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Iterator[CronographProcess]:
    """`cronograph serve --jobs my_jobs` with the jobs of README, and those that the guide of the API names."""
    folder = tmp_path_factory.mktemp("my_jobs")
    (readme,) = (block for block in BLOCKS if block.text.startswith("# my_jobs.py"))
    others = '\n@job\ndef report(days: int = 1) -> None: ...\n\n\n@job\ndef mail(to: str = "") -> None: ...\n'
    (folder / "my_jobs.py").write_text(readme.text + others)
    processes = ProcessStarter(folder, nursery)
    yield processes.serve(f"sqlite:///{folder / 'cronograph.db'}", "--jobs", "my_jobs")
    processes.end_all()


def together(document: str) -> str:
    """The name under which documents are run in one process: the short pages of how-to are."""
    return "how-to" if "how-to" in Path(document).parts else document


@pytest.mark.costly
@pytest.mark.parametrize("name", sorted({together(block.document) for block in blocks_in("python")}))
def test_python_runs_as_it_is_printed(
    name: str, postgres_url: str, my_server: CronographProcess, nursery: Nursery, tmp_path: Path
) -> None:
    pages = sorted({str(ROOT / block.document) for block in blocks_in("python") if together(block.document) == name})
    words = ["-m", "tests.docs.run_python", *pages, postgres_url, my_server.url]
    said = tmp_path / "output"
    addresses = {"CRONOGRAPH_URL": my_server.url, "CRONOGRAPH_DATABASE_URL": postgres_url}
    with said.open("wb") as output:
        run = nursery.start(words, ROOT, {**os.environ, **addresses}, output.fileno())
    try:
        assert run.wait(120) == 0, said.read_text()
    finally:
        run.kill()


@pytest.mark.parametrize("block", blocks_in("graphql"), ids=lambda block: block.place)
def test_graphql_is_answered_without_errors(block: Block, my_server: CronographProcess) -> None:
    document = parse(block.text)
    with open_client(my_server.url) as client:
        for one in document.definitions:
            assert isinstance(one, OperationDefinitionNode)
            assert validate(committed_schema(), parse(print_ast(one))) == []
            if one.operation is OperationType.SUBSCRIPTION:
                continue
            answer = client.post("/graphql", json={"query": print_ast(one)}).json()
            assert "errors" not in answer, answer
            assert [field for field in answer["data"].values() if field and field.get("errors")] == []


@pytest.mark.costly
@pytest.mark.parametrize("document", sorted({together(block.document) for block in blocks_in("sh")}))
def test_commands_end_well(document: str, my_server: CronographProcess, nursery: Nursery, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        unavailable("curl", "as root, apt-get install curl")
    (tmp_path / "password.txt").write_text(PASSWORD)
    given = {"my_jobs.py": my_server.output_file.with_name("my_jobs.py"), "fullchain.pem": TLS["tls_cert"]}
    for name, file in {**given, "privkey.pem": TLS["tls_key"]}.items():
        shutil.copy(file, tmp_path / name)
    environment = {**os.environ, "TOKEN": "geheim", "no_proxy": "*", "CRONOGRAPH_URL": my_server.url}
    with forked_command(tmp_path, nursery) as commands:
        environment["PATH"] = f"{commands}{os.pathsep}{os.environ['PATH']}"
        run_lines(document, my_server, nursery, tmp_path, environment)


def run_lines(
    document: str, my_server: CronographProcess, nursery: Nursery, folder: Path, environment: dict[str, str]
) -> None:
    """The commands of a document, each by a shell."""
    for line in (line for block in blocks_in("sh") if together(block.document) == document for line in lines_of(block)):
        if line.startswith("cronograph serve "):
            # What would serve until it is stopped is checked by the same flags; not everybody may use port 443.
            words = shlex.split(line.replace("--port 443", "--port 0"))[2:]
            status, said = ProcessStarter(folder, nursery).run("check", *words)
        else:
            here = re.sub(r"(http://)?localhost:8000", my_server.url, line)
            status, *outputs = shell(here, folder, environment)
            said = outputs[0] or outputs[1]
        assert status == 0, f"{line}: {said}"
        if line.startswith("curl"):
            assert "errors" not in json.loads(said), said


def lines_of(block: Block) -> list[str]:
    """The commands of a block."""
    return block.text.replace("\\\n", "").splitlines()


@pytest.mark.costly
def test_whoever_follows_what_happens_hears_of_a_change(my_server: CronographProcess, tmp_path: Path) -> None:
    block = block_of("docs/api.md", "from contextlib import closing")
    code = block.text.replace("Client()", f'Client("{my_server.url}")')
    said = tmp_path / "said"
    with (
        said.open("wb") as output,
        subprocess.Popen([sys.executable, "-u", "-c", code], stdout=output) as reader,
        open_client(my_server.url) as client,
    ):

        def heard() -> bool:
            for change in ("pauseTask", "resumeTask"):
                document = f'mutation {{ {change}(input: {{ name: "import_orders" }}) {{ errors {{ code }} }} }}'
                assert client.post("/graphql", json={"query": document}).json()["data"][change]["errors"] == []
            return said.read_text().startswith("changed: import_orders\n")

        wait_until(heard, message="the reader to hear of a change")
        assert reader.poll() is None
        reader.terminate()


def test_settings_and_data_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("geheim")
    for block in blocks_in("toml"):
        file = tmp_path / "cronograph.toml"
        file.write_text(block.text.replace("/etc/cronograph/company-secret", str(tmp_path / "secret")))
        load({}, file)
    for block in blocks_in("json"):
        json.loads(block.text)
