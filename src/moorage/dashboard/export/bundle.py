"""Join the modules of the front end into one script, which runs where modules cannot be loaded: in a file.

One inline script can be allowed by its hash alone; modules in `data:` or `blob:` addresses would need a policy that
allows all such scripts. Each module becomes a function that is run when it is first used. The forms of import and
export that the front end uses are known here; another one is an error, as is a circle of imports.
"""

import posixpath
import re
from collections.abc import Mapping

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
    if found := _ENDS.search(script):
        raise CannotBundle(f"{found[0]} cannot stand in a script of a page")
    return script


def _visit(path: str, modules: Mapping[str, str], done: dict[str, str], above: tuple[str, ...]) -> None:
    if path in above:
        raise CannotBundle(f"modules import each other: {' → '.join((*above, path))}")
    if path in done:
        return
    text = modules.get(path)
    if text is None:
        raise CannotBundle(f"{above[-1] if above else 'the page'} imports {path}, which is not there")
    at_once = [_resolved(path, one["path"]) for one in _IMPORT.finditer(text)]
    later = [_resolved(path, one["path"]) for one in _LAZY.finditer(text)]
    for needed in at_once:
        _visit(needed, modules, done, (*above, path))
    done[path] = _as_function(path, text)
    for needed in later:
        _visit(needed, modules, done, ())


def _as_function(path: str, text: str) -> str:
    names = [one["name"] for one in _EXPORT.finditer(text)]

    def imported(found: re.Match[str]) -> str:
        use = f'$use("{_resolved(path, found["path"])}");'
        if found["names"] is None:
            return use
        wanted = (re.sub(r"\s+as\s+", ": ", one.strip()) for one in found["names"].split(","))
        return f"const {{ {', '.join(filter(None, wanted))} }} = {use}"

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
