"""Every word that programs test is in the schema or in the catalogue, and the page says what the code says."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from cronograph.jobs.core.base.errors import ErrorCode
from tests.generation.cli_answers import committed_schema
from tests.generation.codes import REQUESTS, SDL, catalogue, limit_codes
from tests.generation.raised_codes import WRITTEN, module_text, raised
from tests.support.sources import ROOT

WORD = re.compile("[A-Z]{2}[A-Z0-9]*(_[A-Z0-9]+)*")
REFUSES = {"UserFacingError", "coded", "_refused", "_bad_request"}
"""What takes a code."""
OF_A_LIMIT = {"LimitExceeded", "_check", "_limit", "_refusal", "refusal"}
"""What takes the name of a limit first."""
CODE = re.compile(r'(?:code=|_refused\([^()]*, |coded\(.*, )"([A-Z_a-z0-9]+)"')


def test_the_page_of_codes_is_what_the_code_says() -> None:
    assert (ROOT / "docs" / "codes.md").read_text() == catalogue(SDL.read_text()), "write it again with `make schema`"


def test_the_codes_of_each_mutation_are_those_that_its_sources_raise() -> None:
    found = raised()
    assert WRITTEN.read_text(encoding="utf-8") == module_text(found), "write it again with `make schema`"
    mutations = committed_schema().mutation_type
    assert mutations is not None
    assert set(mutations.fields) == set(found)
    for name, field in mutations.fields.items():
        assert (field.description or "").endswith(f"Errors: {', '.join(f'`{code}`' for code in found[name])}."), name
    assert {"ALREADY_EXISTS", "NEVER_FIRES", "UNKNOWN_JOB"} <= set(found["createTask"])
    # Dry runs of a task try a run of it.
    with_overlap = ["createTask", "retryRun", "retryRuns", "triggerTask", "updateTask"]
    assert [name for name, codes in found.items() if "OVERLAP" in codes] == with_overlap
    assert "VERSION_CONFLICT" not in found["createTask"]


def sources() -> Iterator[tuple[Path, str]]:
    """What can refuse a request: the API and the server, but for the client."""
    for folder in ("graphql", "server"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "client" not in path.parts:
                yield path, path.read_text(encoding="utf-8")


def raised_by(text: str) -> set[str]:
    """The codes of the refusals in a source, and of the limits that it names."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = [*node.args, *(one.value for one in node.keywords if one.arg == "code")]
        words = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if name in REFUSES:
            found |= {word for word in words if WORD.fullmatch(word)}
        elif name in OF_A_LIMIT and words and words[0].isidentifier():
            found.add(f"LIMIT_{words[0].upper()}")
        named = [one.value for one in node.keywords if one.arg == "limit"]
        found |= {
            f"LIMIT_{one.value.upper()}"
            for one in named
            if isinstance(one, ast.Constant) and isinstance(one.value, str)
        }
    return found


def test_every_code_of_a_request_is_in_the_catalogue() -> None:
    known = {*REQUESTS, *limit_codes()}
    for path, text in sources():
        unknown = raised_by(text) - known
        assert unknown == set(), f"{path.relative_to(ROOT)}: put {unknown} into tests/generation/codes.py"


def test_the_catalogue_has_no_code_that_nothing_raises() -> None:
    texts = dict(sources())
    raised = set[str]().union(*(raised_by(text) for text in texts.values()))
    assert set(limit_codes()) - raised == set()
    # Some are kept under a name of their own before they are raised, or raised by the engine.
    written = "".join([*texts.values(), (ROOT / "jobs" / "core" / "base" / "errors.py").read_text(encoding="utf-8")])
    assert [code for code in REQUESTS if f'"{code}"' not in written] == []


def test_no_code_of_a_refusal_is_a_bare_text() -> None:
    for path in sorted((ROOT / "jobs").rglob("*.py")):
        assert CODE.findall(path.read_text(encoding="utf-8")) == [], path
    assert all(code.value == code.name for code in ErrorCode)
