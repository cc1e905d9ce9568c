"""docs/library.md: its examples are run, all public names are in it, and no others."""

import ast
import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

import moorage
import moorage.testing
from moorage.library.cluster import Cluster

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "library.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = [block for block in BLOCKS if block.startswith(">>>")]
#: What an import of the package must not bring along.
SLOW = ("numpy", "yaml", "click", "msgspec", "asyncio", "typing")


def test_the_examples_are_what_happens() -> None:
    assert len(EXAMPLES) > 5
    test = doctest.DocTestParser().get_doctest("".join(EXAMPLES), {}, "library.md", "docs/library.md", 0)
    said: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert not said, "".join(said)


def test_public_names_and_only_those_are_documented() -> None:
    names = set(re.findall(r"`moorage\.([A-Za-z_]\w*)(?=[`(.])", PAGE))
    assert names == {*moorage.__all__, "capacity", "cel", "testing"}
    inside = set(re.findall(r"`moorage\.testing\.(\w+)", PAGE))
    assert inside == set(moorage.testing.__all__)


def test_examples_use_public_names_only() -> None:
    for block in BLOCKS:
        source = "".join(example.source for example in doctest.DocTestParser().get_examples(block)) or block
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("moorage"):
                assert node.module in ("moorage", "moorage.testing", "moorage.cel")
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "moorage":
                assert node.attr in (*moorage.__all__, "testing", "cel", "capacity")


@pytest.mark.parametrize(
    "kind", [moorage.Plan, moorage.LintReport, moorage.Tolerance, Cluster, moorage.testing.Cluster]
)
def test_every_attribute_of_a_result_is_documented(kind: type) -> None:
    for name in dir(kind):
        if not name.startswith("_"):
            assert re.search(rf"`{name}\b", PAGE), f"{kind.__name__}.{name}"


def test_every_public_name_has_words_of_its_own() -> None:
    for name in moorage.__all__:
        if name != "__version__":
            found = getattr(moorage, name)
            assert getattr(found, "__wrapped__", found).__doc__


def test_an_import_brings_nothing_along() -> None:
    script = f"import sys; before = set(sys.modules); import moorage; print(*(set(sys.modules) - before) & {set(SLOW)})"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "\n"
