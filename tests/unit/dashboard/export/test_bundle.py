"""Modules become one script."""

import shutil
import subprocess

import pytest

from moorage.dashboard.export.page import CannotBundle, bundle
from moorage.dashboard.http.application import read_assets

MODULES = {
    "app.js": """import { one, two as deux } from "./lib/numbers.js";
import {
  Shape,
} from "./lib/shape.js";
import "./lib/side.js";

const later = () => import("./views/late.js");
console.log(one, deux(), new Shape().name, globalThis.side);
later().then(({ late }) => console.log(late));
""",
    "lib/numbers.js": """export const one = 1;
export function two() {
  return one + 1;
}
""",
    "lib/shape.js": """import { two } from "./numbers.js";
export class Shape {
  name = `shape ${two()}`;
}
""",
    "lib/side.js": "globalThis.side = 'effect';\n",
    "views/late.js": """import { one } from "../lib/numbers.js";
export const late = one + 41;
""",
    "unused.js": "export default 1;\n",
}


def test_a_bundle_has_each_used_module_once_before_its_users() -> None:
    script = bundle(MODULES, "app.js")
    order = [script.index(f'$modules.set("{path}"') for path in ("lib/numbers.js", "lib/shape.js", "app.js")]
    assert order == sorted(order)
    assert script.count("globalThis.side = 'effect'") == 1
    assert "unused.js" not in script
    assert 'const { one, two: deux } = $use("lib/numbers.js");' in script
    assert 'Promise.resolve().then(() => $use("views/late.js"))' in script


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_a_bundle_runs() -> None:
    script = bundle(MODULES, "app.js")
    ran = subprocess.run(["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "1 2 shape 2 effect\n42\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("export default 1;", "app.js: this form of import or export is not known: export default 1;"),
        ("export { a };", "not known: export { a };"),
        ("export * from './b.js';", "not known: export"),
        ("import all from './lib/numbers.js';", "not known: import all"),
        ("import * as all from './lib/numbers.js';", "not known"),
        ("const x = import(name);", r"not known: import\(name\)"),
        ("console.log(import.meta.url);", "not known: import.meta"),
        ('import { a } from "./absent.js";', "app.js imports absent.js, which is not there"),
        ('import "./app.js";', "modules import each other: app.js → app.js"),
        ("const end = '</script>';", "cannot stand in a script"),
    ],
)
def test_what_is_not_understood_is_refused(text: str, problem: str) -> None:
    with pytest.raises(CannotBundle, match=problem):
        bundle({**MODULES, "app.js": text + "\n"}, "app.js")


def test_a_circle_is_named() -> None:
    modules = {"a.js": 'import "./b.js";\n', "b.js": 'import "./c.js";\n', "c.js": 'import "./b.js";\n'}
    with pytest.raises(CannotBundle, match=r"a.js → b.js → c.js → b.js"):
        bundle(modules, "a.js")


def test_the_front_end_can_be_bundled() -> None:
    scripts = {path: asset.body.decode() for path, asset in read_assets().items() if path.endswith(".js")}
    script = bundle(scripts, "app.js")
    missing = [path for path in scripts if f'$modules.set("{path}"' not in script]
    assert missing == ["lib/stream/worker.js"]  # any other is one that nothing imports
