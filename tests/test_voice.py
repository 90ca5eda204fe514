"""One voice: sentences that people read have none of the patterns of the house's style."""

import ast
import re
import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = sorted((ROOT / "src" / "wayveil").rglob("*.py"))
# What an English-speaking colleague would not say, and what to say instead.
PATTERNS = {
    r"\bleave (--)?[\w-]+( or (--)?[\w-]+)? away\b": "omit --x",
    r"[Tt]here is no [^.;\"]{1,60}; there are": "unknown x 'foo'; choose one of ...",
    r"no (better|more) than silence": "no better than publishing nothing",
    r"1,048,576": "numbers in the reader's units",
    r"by more than the factor that this number allows": "at most e^1 = 2.72 times",
}
DOCUMENTED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
FIRST_WORDS = re.compile(r"(The same|What |How |Whether |As )")
DOCS = ROOT / "docs"
START = [DOCS / f"{name}.md" for name in ("start", "first-hour", "glossary")]
SHORT = [ROOT / "README.md", *START, *sorted((DOCS / "howto").glob("*.md"))]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts),
]
LONGEST_PARAGRAPH = 120
MEDIAN_WORDS = 18


def sentences(path):
    """Line and text of every string of a module: help, messages and docstrings, parts of f-strings joined."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "x" for part in node.values)
            yield node.lineno, " ".join("".join(map(str, parts)).split())
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, " ".join(node.value.split())


def docstrings(path):
    """Name and text of the docstring of a module, and of each of its classes and functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            yield f"{path.relative_to(ROOT)} {getattr(node, 'name', '')}", text


def test_no_sentence_has_a_pattern_that_readers_stumbled_over():
    found = [
        f"{path.relative_to(ROOT)}:{line} {text[:80]!r}: say {instead!r}"
        for path in SOURCE
        for line, text in sentences(path)
        for pattern, instead in PATTERNS.items()
        if re.search(pattern, text)
    ]
    assert found == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_has_such_a_pattern_either(page):
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert [pattern for pattern in PATTERNS if re.search(pattern, text)] == []


def test_docstrings_start_with_a_verb_or_name_their_subject():
    odd = [name for path in SOURCE for name, text in docstrings(path) if FIRST_WORDS.match(text)]
    assert odd == [], (
        "say what is returned or done (Return ..., Tell whether ...), or what it is (Options of ...)"
    )


@pytest.mark.parametrize(
    "words", ["leave --put-on away", "there is no unit x; there are trip", "1,048,576 parts"]
)
def test_each_pattern_is_found_where_it_stands(words):
    assert any(re.search(pattern, words) for pattern in PATTERNS)


def prose(page):
    """Paragraphs and items of lists of a page, without code, tables and headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    kept = (
        block
        for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text)
        if not re.match(r"\s*(#|\||!\[|<)", block)
    )
    return [" ".join(re.sub(r"[`*\[\]]|\([^)]*\.md\)", "", block).split()) for block in kept if block.strip()]


def flesch(text):
    """Reading ease after Flesch, syllables counted by groups of vowels."""
    words = re.findall(r"[A-Za-z']+", text)
    syllables = sum(max(1, len(re.findall(r"[aeiouy]+", word.lower()))) for word in words)
    count = max(1, len(re.findall(r"[.!?](\s|$)", text)))
    return 206.835 - 1.015 * len(words) / count - 84.6 * syllables / max(1, len(words))


@pytest.mark.parametrize("page", SHORT, ids=lambda page: page.stem)
def test_pages_of_start_and_how_to_are_easy_to_read(page):
    paragraphs = prose(page)
    lengths = [len(each.split()) for text in paragraphs for each in re.split(r"(?<=[.!?])\s+", text) if each]
    ease = flesch(" ".join(paragraphs))
    print(f"{page.stem}: Flesch {ease:.0f}, median sentence {statistics.median(lengths):.0f} words")
    assert statistics.median(lengths) <= MEDIAN_WORDS
    assert ease >= 50


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_paragraph_is_long(page):
    assert [text[:60] for text in prose(page) if len(text.split()) > LONGEST_PARAGRAPH] == []
