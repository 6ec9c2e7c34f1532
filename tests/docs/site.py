"""What `make docs` builds the site from: the pages, and `llms.txt`, which names each with what it begins with."""

import re
import shutil
import sys
from pathlib import Path

from tests.support.sources import ROOT

DOCS = ROOT / "docs"
TOP_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
FENCE = re.compile(r"^( *```\w+) .*$", re.MULTILINE)
SUMMARY = re.compile(r'^description = "(.+)"$', re.MULTILINE)
LINK = re.compile(r"\[[^\]]+\]\(([^)#\s]+\.md)\)")
_SECTION = re.compile(r"^\*\*(.+?)\*\*: (.+?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
MOST = 200
"""Characters of what is said of a page."""


def title_of(text: str) -> str:
    """The first heading."""
    return next(line for line in text.splitlines() if line.startswith("# "))[2:].replace("`", "")


def beginning_of(text: str) -> str:
    """The first sentence that is neither heading, table nor code."""
    blocks = re.split(r"\n\s*\n|\n(?=```|\||#)", re.sub(r"^# .*\n", "", text, count=1))
    first = next((one for one in map(str.strip, blocks) if one and one[0] not in "#|`<-*"), "")
    plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", " ".join(first.split()))
    return re.split(r"(?<=[.:])\s", plain)[0][:MOST].rstrip(".:")


def llms() -> str:
    """The file, in the form of llmstxt.org."""
    summary = SUMMARY.search((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if summary is None:
        raise ValueError('pyproject.toml: must hold one line `description = "…"`, got none')
    lines = ["# Cronograph", "", f"> {summary[1]}"]
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    for section in _SECTION.finditer(index):
        lines += ["", f"## {section[1]}", ""]
        for target in dict.fromkeys(LINK.findall(section[2])):
            page = (DOCS / target).resolve()
            text = page.read_text(encoding="utf-8")
            address = page.relative_to(ROOT).with_suffix(".html").as_posix()
            said = beginning_of(text)
            lines.append(f"- [{title_of(text)}]({address})" + (f": {said}" if said else ""))
    return "\n".join(lines) + "\n"


def stage(target: Path) -> None:
    """Copy the pages there, as MkDocs reads them: it knows no words behind the language of a block."""
    for source in [*(ROOT / name for name in TOP_PAGES), *DOCS.rglob("*")]:
        place = target / source.relative_to(ROOT)
        if source.is_dir():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            place.write_text(FENCE.sub(r"\1", source.read_text(encoding="utf-8")), encoding="utf-8")
        else:
            shutil.copyfile(source, place)
    (target / "llms.txt").write_text(llms(), encoding="utf-8")


if __name__ == "__main__":
    stage(Path(sys.argv[1]))
