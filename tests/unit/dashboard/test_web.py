"""The files of the page: modules are there and asked for at once, and none does what its policy forbids."""

import posixpath
import re
from pathlib import Path

import pytest

WEB = Path(__file__).resolve().parents[3] / "src" / "moorage" / "dashboard" / "web"
SCRIPTS = sorted(path.relative_to(WEB).as_posix() for path in WEB.rglob("*.js"))
MAX_LINES = 450
_IMPORT = re.compile(r'(?:^import\s+(?:\{[^}]*\}\s+from\s+)?|\bimport\(\s*)"(\.{1,2}/[^"]+)"', re.MULTILINE)
_LAZY = re.compile(r"\bimport\(")
_PRELOAD = re.compile(r'<link rel="modulepreload" href="([^"]+)">')
#: What would read a string of the cluster as markup or as a script.
_FORBIDDEN = re.compile(
    r"\.(?:innerHTML|outerHTML)\b|insertAdjacentHTML|document\.write|\beval\(|new Function\b|createContextualFragment"
)
#: Inline styles and scripts, and anything that is loaded from elsewhere.
_INLINE = re.compile(r"\sstyle=|\son\w+=|<style|<script(?![^>]*\ssrc=)|(?:src|href)=\"(?:https?:)?//")

#: What reads a text as a number or a version. Values of taints and labels are read by the server alone.
_READS = re.compile(r"parseInt|parseFloat|BigInt|\bNumber\(|\.map\(Number\)|\\d|\[0-9\]|[cC]ompareVersions")
#: Scripts that read something else, and what that is.
_MAY_READ = {
    "lib/colour.js": "colours of the style sheet",
    "lib/format.js": "a number that is rounded",
    "lib/stream/hub.js": "the number of a change",
    "parts/table/cards.js": "the width of a column in the style sheet",
    "views/capacity/autoscaling-panel.js": "seconds of a choice",
    "views/map/node-table.js": "yes and no, to sort by them",
    "views/pending/groups.js": "the head of the scheduler's message, which is cut off",
    "views/pending/trying.js": "yes and no, to sort by them",
    "views/playground/editor.js": "the height of a line",
    "views/playground/examples.js": "an expression in CEL, as text",
    "views/playground/highlight.js": "source text, to colour it",
    "views/playground/playground.js": "the index of a choice",
    "views/timeline/lanes.js": "seconds in the address",
    "views/timeline/moments.js": "a moment in the address",
}


def text(path: str) -> str:
    return (WEB / path).read_text(encoding="utf-8")


def imports(path: str, *, lazy: bool) -> set[str]:
    found = _IMPORT.finditer(text(path))
    folder = posixpath.dirname(path)
    wanted = (one for one in found if lazy or not _LAZY.match(one[0]))
    return {posixpath.normpath(posixpath.join(folder, one[1])) for one in wanted}


def needed(*first: str) -> set[str]:
    seen: set[str] = set()
    left = list(first)
    while left:
        path = left.pop()
        if path not in seen:
            seen.add(path)
            left += imports(path, lazy=False)
    return seen


@pytest.mark.parametrize("path", SCRIPTS)
def test_imports_are_there(path: str) -> None:
    assert {one for one in imports(path, lazy=True) if not (WEB / one).is_file()} == set()


def test_modules_of_the_first_view_are_asked_for_at_once() -> None:
    """Check the list in index.html: without it each level of imports costs a round trip before the first paint."""
    assert set(_PRELOAD.findall(text("index.html"))) == needed("app.js", "views/map/map.js") - {"app.js"}


@pytest.mark.parametrize("path", SCRIPTS)
def test_no_string_becomes_markup_or_script(path: str) -> None:
    assert [
        line for line in text(path).splitlines() if _FORBIDDEN.search(line) and not line.startswith("const NEVER")
    ] == []


def test_the_page_has_nothing_inline_and_loads_nothing_from_elsewhere() -> None:
    assert _INLINE.findall(text("index.html")) == []
    assert _INLINE.search('<p style="x">')
    assert _INLINE.search("<script>x</script>")
    assert _INLINE.search('<script src="https://example.com/x.js">')


def test_no_script_reads_numbers_or_versions_of_the_cluster() -> None:
    assert {path for path in SCRIPTS if _READS.search(text(path))} == _MAY_READ.keys()


@pytest.mark.parametrize("path", SCRIPTS)
def test_scripts_are_of_a_length(path: str) -> None:
    assert len(text(path).splitlines()) <= MAX_LINES
