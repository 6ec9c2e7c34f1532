"""What is hard to read in a page: long sentences, and words that people stumble over."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

LONGEST: Final = 40
"""Words that a sentence may have."""
STUMBLED_OVER: Final = {
    "anew": "again",
    "whoever": "anyone who, the person who",
    "whatever": "any, everything that",
    "does without": "skips, needs no",
    "lies in": "is stored in",
    "lie in": "are stored in",
    "is told": "hears, gets, is notified",
    "of yours": "your",
    "a job's alone": "only the job can",
    "can bear": "can handle",
    "tells of": "says, reports",
    "nobody who may": "denied",
}
"""Words that strangers stumbled over, and what to write instead."""
IN_MESSAGES: Final = STUMBLED_OVER | {
    "beside": "next to, as well as, together with",
    "told": "hears, gets, is notified",
    "lies": "is",
    "lie": "are",
}
"""What messages and the pages for users say besides in other words."""
IN_CODE: Final = ("beside", "tells", "told", "hears?", "lies", "worth", "(?:is|was|be|stays?|stayed) away(?! from)")
"""What no line of the product has, be it code, a comment or a docstring: patterns."""
_NO_PROSE: Final = re.compile(r"^```.*?^```$|^\|[^\n]*$|^#[^\n]*$|<!--.*?-->", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE: Final = re.compile(r"`[^`]*`")
_END: Final = re.compile(r"(?<=[.!?:;·])\s+|\n\s*\n|\n(?=[-*] )")
_WORD: Final = re.compile(r"[\w'-]+")


def prose(text: str) -> str:
    """Return what a page says in sentences: no code blocks, tables and headings; code and links are one word each."""
    kept = _NO_PROSE.sub("\n", text)
    return _LINK.sub(lambda found: found[1], _CODE.sub("code", kept))


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page; a colon, a semicolon, a paragraph and an item of a list end one, too."""
    for one in _END.split(prose(text)):
        if _WORD.search(one):
            yield " ".join(one.split())


def long_sentences(text: str) -> list[str]:
    """Those with more than so many words."""
    return [one for one in sentences(text) if len(_WORD.findall(one)) > LONGEST]


def stumbling_blocks(text: str, words: Mapping[str, str] = STUMBLED_OVER) -> Counter[str]:
    """Return how often a page has each of the words."""
    said = " ".join(prose(text).lower().split())
    found = {word: len(re.findall(rf"\b{re.escape(word)}\b", said)) for word in words}
    return Counter({word: times for word, times in found.items() if times})


def average(text: str) -> float:
    """Words in a sentence of a page."""
    lengths = [len(_WORD.findall(one)) for one in sentences(text)]
    return sum(lengths) / len(lengths) if lengths else 0.0


def faults(path: Path, words: Mapping[str, str] = STUMBLED_OVER) -> Counter[str]:
    """Return what is wrong in a page: how many sentences are too long, and how often each word stands there."""
    text = path.read_text(encoding="utf-8")
    found = stumbling_blocks(text, words)
    if long := len(long_sentences(text)):
        found["long sentences"] = long
    return found
