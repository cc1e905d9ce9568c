"""Nothing of the page is left over: exported names, classes of style sheets and variables of the theme are used."""

import re
from pathlib import Path

WEB = Path(__file__).resolve().parents[3] / "src" / "moorage" / "dashboard" / "web"
SCRIPTS = {path.relative_to(WEB).as_posix(): path.read_text("utf-8") for path in WEB.rglob("*.js")}
STYLES = {path.relative_to(WEB).as_posix(): path.read_text("utf-8") for path in WEB.rglob("*.css")}
MARKUP = "\n".join([*SCRIPTS.values(), (WEB / "index.html").read_text("utf-8")])
_EXPORT = re.compile(r"^export\s+(?:async\s+)?(?:function\*?|class|const)\s+(\w+)", re.MULTILINE)
_WORD = re.compile(r"[\w-]+")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
#: Classes whose last part is a value: class: `code-${kind}`.
_COMPOSED = re.compile(r"([\w-]+-)\$\{")
_VARIABLE = re.compile(r"^\s*--([\w-]+):", re.MULTILINE)
_USED = re.compile(r"var\(--([\w-]+)\)")


def unused_exports(scripts: dict[str, str]) -> set[str]:
    """Return the exported names that only their own line mentions."""
    words = re.findall(r"\w+", "\n".join(_COMMENT.sub("", text) for text in scripts.values()))
    return {
        f"{path}: {name}" for path, text in scripts.items() for name in _EXPORT.findall(text) if words.count(name) < 2
    }


def unused_classes(styles: dict[str, str], markup: str) -> set[str]:
    """Return the classes that a style sheet has and no script sets."""
    words = set(_WORD.findall(markup))
    composed = tuple(_COMPOSED.findall(markup))
    selectors = {path: re.sub(r"\{[^{}]*\}", "{}", _COMMENT.sub("", text)) for path, text in styles.items()}
    return {
        f"{path}: {name}"
        for path, text in selectors.items()
        for name in _CLASS.findall(text)
        if name not in words and not (composed and name.startswith(composed))
    }


def unused_variables(styles: dict[str, str], scripts: dict[str, str]) -> set[str]:
    """Return the variables of the theme that neither a style sheet nor the colours of the canvases use."""
    used = {name for text in styles.values() for name in _USED.findall(text)}
    canvases = scripts["lib/colour.js"]
    composed = tuple(_COMPOSED.findall(canvases))
    return {
        name
        for name in _VARIABLE.findall(styles["styles/theme.css"])
        if name not in used and f'"{name}"' not in canvases and not name.startswith(composed)
    }


def test_nothing_is_left_over() -> None:
    assert unused_exports(SCRIPTS) == set()
    assert unused_classes(STYLES, MARKUP) == set()
    assert unused_variables(STYLES, SCRIPTS) == set()


def test_what_is_left_over_is_noticed() -> None:
    assert unused_exports({"a.js": "export function gone() {}\nexport const kept = 1;", "b.js": "kept"}) == {
        "a.js: gone"
    }
    assert unused_classes({"a.css": ".gone, .kept { color: red; }"}, 'h("p", {class: "kept"})') == {"a.css: gone"}
    theme = {"styles/theme.css": "  --gone: 1px;\n  --kept: 2px;\n  --ramp-1: 3px;", "a.css": "p { top: var(--kept); }"}
    assert unused_variables(theme, {"lib/colour.js": "`ramp-${index}`"}) == {"gone"}
