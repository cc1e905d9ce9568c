"""Write a page that needs no server: markup, styles, one script and the data, with a policy that allows only these.

Of the policy two hashes are all that is allowed to run or to style: a string of the cluster that was read as markup
could do nothing. In the data `<` is written `\\u003c`, so that no string ends its element. The modules of the front end
are joined into one script, because one inline script can be allowed by its hash, while modules in `data:` or `blob:`
addresses would need a policy that allows all such scripts: each becomes a function that runs when it is first used. The
forms of import and export that the front end uses are known; another one is an error, as is a circle of imports.
"""

import base64
import hashlib
import posixpath
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.dashboard.http.application import Asset, read_assets
from moorage.dashboard.state.readings import readings, texts_of

_IMPORT = re.compile(r'^import\s+(?:\{(?P<names>[^}]*)\}\s+from\s+)?"(?P<path>\.{1,2}/[^"]+)";[ \t]*$', re.MULTILINE)
_EXPORT = re.compile(r"^export\s+(?=(?:async\s+)?(?:function\b\*?|class\b|const\b)\s*(?P<name>[\w$]+))", re.MULTILINE)
_LAZY = re.compile(r'\bimport\(\s*"(?P<path>\.{1,2}/[^"]+)"\s*\)')
_REST = re.compile(r"^(?:import|export)\b.*|\bimport\s*\(.*|\bimport\.meta\b.*", re.MULTILINE)
#: What would end the element that the script stands in.
_ENDS = re.compile(r"</script|<!--", re.IGNORECASE)

_START = """const $modules = new Map();
function $use(path) {
  const known = $modules.get(path);
  if (!known.exports) {
    known.exports = {};
    known.run(known.exports);
  }
  return known.exports;
}
"""


class CannotBundle(Exception):
    """Which line of which module is not understood, or which modules import each other."""


def bundle(modules: Mapping[str, str], first: str) -> str:
    """Return one script that runs module `first`; `modules` are the texts by path. Raises CannotBundle."""
    done: dict[str, str] = {}
    _visit(first, modules, done, ())
    script = _START + "".join(done.values()) + f'$use("{first}");\n'
    if ending := _ENDS.search(script):
        raise CannotBundle(f"{ending[0]} cannot stand in a script of a page")
    return script


def _visit(path: str, modules: Mapping[str, str], done: dict[str, str], above: tuple[str, ...]) -> None:
    if path in above:
        raise CannotBundle(f"modules import each other: {' → '.join((*above, path))}")
    if path in done:
        return
    text = modules.get(path)
    if text is None:
        raise CannotBundle(f"{above[-1] if above else 'the page'} imports {path}, which is not there")
    at_once = [_resolved(path, statement["path"]) for statement in _IMPORT.finditer(text)]
    later = [_resolved(path, statement["path"]) for statement in _LAZY.finditer(text)]
    for needed in at_once:
        _visit(needed, modules, done, (*above, path))
    done[path] = _as_function(path, text)
    for needed in later:
        _visit(needed, modules, done, ())


def _as_function(path: str, text: str) -> str:
    names = [statement["name"] for statement in _EXPORT.finditer(text)]

    def imported(found: re.Match[str]) -> str:
        use = f'$use("{_resolved(path, found["path"])}");'
        if found["names"] is None:
            return use
        bindings = (re.sub(r"\s+as\s+", ": ", statement.strip()) for statement in found["names"].split(","))
        return f"const {{ {', '.join(filter(None, bindings))} }} = {use}"

    body = _IMPORT.sub(imported, text)
    body = _LAZY.sub(lambda found: f'Promise.resolve().then(() => $use("{_resolved(path, found["path"])}"))', body)
    body = _EXPORT.sub("", body)
    if left := _REST.search(body):
        raise CannotBundle(f"{path}: this form of import or export is not known: {left[0].strip()}")
    getters = "".join(f"  {name}: {{ get: () => {name}, enumerable: true }},\n" for name in names)
    return (
        f'$modules.set("{path}", {{ run($exports) {{\n'
        f"Object.defineProperties($exports, {{\n{getters}}});\n{body}\n}} }});\n"
    )


def _resolved(path: str, other: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), other))


_STYLESHEET = re.compile(r'^<link rel="stylesheet" href="(?P<path>[^"]+)">\n', re.MULTILINE)
_PRELOAD = re.compile(r'^<link rel="modulepreload" href="[^"]+">\n', re.MULTILINE)
_SCRIPT = re.compile(r'^<script type="module" src="(?P<path>[^"]+)"></script>\n', re.MULTILINE)
_ICON = re.compile(r'href="(?P<path>[^"]+\.svg)"')
_CHARSET = '<meta charset="utf-8">\n'
_ELSEWHERE = re.compile(r"@import|url\((?!\s*['\"]?(?:data:|#))[^)]*\)|</style", re.IGNORECASE)

Data = dict[str, Any]


def render(data: Data) -> str:
    """Return a page that shows `state` and `answers`, and at first the `view`. Raises CannotBundle.

    `moments` are further states, each with answers of its own.
    """
    assets = read_assets()
    markup = _text(assets, "index.html")
    script_at = _SCRIPT.search(markup)
    if script_at is None or _CHARSET not in markup:
        raise CannotBundle("index.html has no script, or does not name its encoding")
    style = "".join(_text(assets, path) for path in _stylesheets(markup, assets))
    if reference := _ELSEWHERE.search(style):
        raise CannotBundle(f"styles must be whole in themselves: {reference[0]}")
    scripts = {path: asset.body.decode() for path, asset in assets.items() if path.endswith(".js")}
    script = bundle(scripts, script_at["path"])
    markup = _SCRIPT.sub("", _PRELOAD.sub("", _STYLESHEET.sub("", markup)))
    markup = _ICON.sub(lambda one: f'href="{_as_address(assets[one["path"]])}"', markup)
    head = f'<meta http-equiv="Content-Security-Policy" content="{_policy(script, style)}">\n'
    markup = markup.replace(_CHARSET, _CHARSET + head, 1)
    before, end, after = markup.partition("</head>")
    embedded = f'<script type="application/json" id="embedded">{_escaped(_with_readings(data))}</script>\n'
    inlined = f'<style>{style}</style>\n{embedded}<script type="module">{script}</script>\n'
    return before + inlined + end + after


def _with_readings(data: Data) -> Data:
    """Add what the values of the page are read as: it has no server to ask."""
    answers = data.get("answers", {})
    states = [data.get("state"), *(moment.get("state") for moment in data.get("moments", ()))]
    texts = (text for state in states for text in texts_of(state or {}, answers))
    return {**data, "answers": {**answers, "readings {}": [readings(texts)]}}


def _stylesheets(markup: str, assets: dict[str, Asset]) -> list[str]:
    """Return the styles of the page in its order, then those of the views, which come later in the dashboard, too."""
    named = [link["path"] for link in _STYLESHEET.finditer(markup)]
    return named + sorted(path for path in assets if path.endswith(".css") and path not in named)


def _policy(script: str, style: str) -> str:
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _as_address(asset: Asset) -> str:
    return f"data:{asset.content_type};base64,{base64.b64encode(asset.body).decode()}"


def _escaped(data: Data) -> str:
    return msgspec.json.encode(data).decode().replace("<", "\\u003c")


def _text(assets: dict[str, Asset], path: str) -> str:
    if path not in assets:
        raise CannotBundle(f"the front end has no {path}")
    return assets[path].body.decode()
