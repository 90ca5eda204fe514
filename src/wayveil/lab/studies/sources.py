"""The code that the figures of a study came from, so that a record can tell whether it is still the code of today.

What a study uses is found by running it at its smallest and noting which functions of this package are called; its own
modules count as a whole, and so do modules with compiled functions, which no tracer sees. Those of its modules that
only hold claims and exhibits move no cell: a run may go on after they changed, and its page is made anew. Of every
module the digest holds those functions and everything outside of functions (constants, fields of classes), without
imports, comments, docstrings, descriptions of parameters, blanks and constants that none of this code names: what
changes no figure makes no record old.
"""

import ast
import hashlib
import inspect
import io
import sys
import tokenize
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import wayveil

ROOT = Path(wayveil.__file__).parent
ALL = "*"  # in place of the names of functions: the whole module
PAGE = ("_claims.py", "_exhibits.py")  # modules about the page of a study
Sources = dict[str, dict[str, Any]]


def sources_of(codes: Iterable[CodeType], own: Path | None = None) -> Sources:
    """Return what was called by module (its path in the package): `functions`, and the `digest` of today.

    own   folder of a study, which counts as a whole, but for its page
    """
    used: dict[str, set[str]] = {}
    for code in codes:
        path = Path(code.co_filename)
        # Bodies of modules and classes, which are run when they are imported, have no fast locals.
        if code.co_flags & inspect.CO_OPTIMIZED and path.is_relative_to(ROOT) and path != Path(__file__):
            function = code.co_qualname.partition(".<")[0]
            used.setdefault(str(path.relative_to(ROOT)), set()).add(function)
    if own is not None:
        used |= {str(file.relative_to(ROOT)): {ALL} for file in own.glob("*.py")}
    compiled = {file for file in used if "njit" in (ROOT / file).read_text(encoding="utf-8")}
    chosen = {file: [ALL] if file in compiled else sorted(used[file]) for file in sorted(used)}
    # Without a folder of its own, whatever called this code may name any of its constants.
    unnamed = {} if own is None else unnamed_constants(chosen)
    return {
        file: _source(file, functions, unnamed.get(file, []))
        for file, functions in chosen.items()
        if not file.endswith(PAGE)
    }


def page_sources(own: Path) -> Sources:
    """Return the modules of a study that its page is made with."""
    files = sorted(str(file.relative_to(ROOT)) for file in own.glob("*.py") if file.name.endswith(PAGE))
    return {file: _source(file, [ALL]) for file in files}


def _source(file: str, functions: list[str], unnamed: Iterable[str] = ()) -> dict[str, Any]:
    found = {"functions": functions, "digest": digest(file, tuple(functions), tuple(unnamed))}
    return {**found, "unnamed": list(unnamed)} if unnamed else found


def changed(sources: Sources | None) -> list[str]:
    """List the modules whose code is no longer what a record was made with; all of them where it does not say."""
    if not sources:
        return ["all"]
    return [
        file
        for file, was in sources.items()
        if digest(file, tuple(was["functions"]), tuple(was.get("unnamed", ()))) != was["digest"]
    ]


@cache
def digest(file: str, functions: tuple[str, ...], unnamed: tuple[str, ...] = ()) -> str:
    """Digest of these functions of a module and of what is outside of functions; empty where it is gone.

    unnamed   constants that count for nothing
    """
    path = ROOT / file
    return digest_text(path.read_text(encoding="utf-8"), functions, unnamed) if path.exists() else ""


def digest_text(text: str, functions: tuple[str, ...], unnamed: tuple[str, ...] = ()) -> str:
    """Digest of a module's text.

    >>> one = digest_text("def f():\\n    return 1  # one", ("f",))
    >>> one == digest_text("def f():\\n    'Count.'\\n    return 1", ("f",))
    True
    """
    lines, tree = _without_comments(text), ast.parse(text)
    gone = [one for one in tree.body if (names := _constants(one)) and names <= set(unnamed)]
    inside = {row for one in gone for row in _rows(one)}
    chosen: list[str] = []
    for name, node in _functions(tree, ""):
        rows = _rows(node)
        inside |= set(rows)
        if name in functions or ALL in functions:
            chosen += [lines[row] for row in rows]
    outside = [line for row, line in enumerate(lines) if row not in inside]
    whole = "".join("".join(outside + chosen).split())
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Functions and methods of a module with their names; not those inside of functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef | ast.If):
            name = f"{child.name}." if isinstance(child, ast.ClassDef) else ""
            yield from _functions(child, prefix + name)


def unnamed_constants(chosen: dict[str, list[str]]) -> dict[str, list[str]]:
    """List constants of these modules that no chosen function of any of them names, nor a constant that one names."""
    constants: dict[str, dict[str, set[str]]] = {}
    named: set[str] = set()
    for file, functions in chosen.items():
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        constants[file] = {}
        for one in tree.body:
            found = _names(one, "", functions)
            names = _constants(one)
            constants[file] |= dict.fromkeys(names, found - names)
            named |= set() if names else found
    every = [(name, found) for own in constants.values() for name, found in own.items()]
    while more := set().union(*(found for name, found in every if name in named)) - named:
        named |= more
    return {file: sorted(own.keys() - named) for file, own in constants.items()}


def _constants(node: ast.AST) -> set[str]:
    """Names that a statement gives a value and does nothing else."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    plain = isinstance(node, ast.Assign | ast.AnnAssign) and all(isinstance(one, ast.Name) for one in targets)
    return {one.id for one in targets if isinstance(one, ast.Name)} if plain else set()


def _names(node: ast.AST, prefix: str, functions: list[str]) -> set[str]:
    """Whatever may be a name in a statement, also in a text, but for functions that are not chosen and imports."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        chosen = ALL in functions or prefix + node.name in functions
        return {name for one in ast.walk(node) for name in _own_names(one)} if chosen else set()
    prefix += f"{node.name}." if isinstance(node, ast.ClassDef) else ""
    return _own_names(node).union(*(_names(one, prefix, functions) for one in ast.iter_child_nodes(node)))


def _own_names(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {one.name for one in node.names if one.asname}
    found = (getattr(node, "id", None), getattr(node, "attr", None), getattr(node, "value", None))
    return {one for one in found if isinstance(one, str)}


def _rows(node: Any) -> range:
    decorators = [one.lineno for one in getattr(node, "decorator_list", ())]
    return range(min([node.lineno, *decorators]) - 1, node.end_lineno)


def _without_comments(text: str) -> list[str]:
    """The lines of a module without comments, docstrings, descriptions and imports."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    tree = ast.parse(text)
    for words in _descriptions(tree):
        _cut(lines, words)
    for node in ast.walk(tree):
        gone: list[Any] = [node] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            gone += node.body[:1] if ast.get_docstring(node, clean=False) is not None else []
        for one in gone:
            for row in _rows(one):
                lines[row] = ""
    return lines


def _descriptions(tree: ast.AST) -> list[ast.expr]:
    """The words about parameters, the last ones first."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    found = [one.value for call in calls for one in call.keywords if one.arg == "description"]
    return sorted(found, key=lambda one: (one.lineno, one.col_offset), reverse=True)


def _cut(lines: list[str], node: Any) -> None:
    """Blank what stands between the first and the last letter of a node."""
    first, last = node.lineno - 1, node.end_lineno - 1
    head = lines[first].encode()[: node.col_offset].decode()
    tail = lines[last].encode()[node.end_col_offset :].decode()
    for row in range(first, last):
        lines[row] = ""
    lines[last] = tail
    lines[first] = head + (tail if first == last else "")


@contextmanager
def noted() -> Iterator[set[CodeType]]:
    """Note every Python function that is called, once; a tracer that was there comes back."""
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        codes.add(frame.f_code)

    before = sys.gettrace()
    sys.settrace(note)
    try:
        yield codes
    finally:
        sys.settrace(before)
