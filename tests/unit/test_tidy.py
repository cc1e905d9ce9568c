"""Source and pages stay readable: rooms of a size, files of a length, plain words, one class per name."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "moorage"
FILES = sorted(SOURCE.rglob("*.py"))
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md"), *ROOT.glob("bench/*.md")]
)
MAX_FILES_IN_A_FOLDER = 16
MAX_LINES_OF_A_FILE = 450

#: Words that hide which pod, client or owner is meant, and sentences that say nothing.
VAGUE = re.compile(r"\b(?:[Ss]omebody|[Nn]obody|[Ww]hoever|[Aa]nybody|[Ee]verybody)\b|See the module\.|\bNext: `")
#: KEPs are called by their numbers.
UNNAMED_KEPS = re.compile(r"\b[Tt]he documents\b(?! of| that| in| are| it| which| have| were| they)'?")


#: Words that many things could be called by, and that one class has.
NAMES_OF_ONE_THING = frozenset(
    [
        "Acceptance",
        "Binding",
        "Delta",
        "Outcome",
        "Place",
        "Profile",
        "Rule",
        "Sample",
        "Shape",
        "Step",
        "Trials",
        "Verb",
        "View",
        "World",
    ]
)


#: Names that are also words of other formats: an annotation of flags, a field of a summary.
IN_SENTENCES = frozenset({"job-name", "controller-uid"})


def places(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    """Return `file:line: text` for each line that the pattern matches."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_folder_is_crowded() -> None:
    counts = Counter(path.parent for path in FILES)
    assert {str(d.relative_to(ROOT)): n for d, n in counts.items() if n > MAX_FILES_IN_A_FOLDER} == {}


def test_no_file_is_long() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES_OF_A_FILE} == {}


@pytest.mark.parametrize("paths", [FILES, PAGES], ids=["source", "pages"])
def test_words_are_plain(paths: list[Path]) -> None:
    assert places(VAGUE, paths) == []


@pytest.mark.parametrize("paths", [FILES, PAGES], ids=["source", "pages"])
def test_keps_are_called_by_number(paths: list[Path]) -> None:
    assert places(UNNAMED_KEPS, paths) == []


def test_a_class_name_means_one_thing() -> None:
    """Check public class names: none stands for four things, and these for one only."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(SOURCE)))
    most = {name: 1 if name in NAMES_OF_ONE_THING else 3 for name in homes}
    assert {name: found for name, found in homes.items() if len(found) > most[name]} == {}


def test_facts_are_written_once() -> None:
    """Check that kinds go by `KINDS.POD`, and that names of the Kubernetes API stand in well-known modules only."""
    written = {
        node.value.value
        for path in (SOURCE / "model" / "well_known").glob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }
    again = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for path in FILES
        if path.parent.name != "well_known"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in written - IN_SENTENCES
    ]
    assert again == []
    assert places(re.compile(r"^_?[A-Z_]+ = KINDS[.\[]"), FILES) == []


def test_every_controller_is_held_to_independence() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    held = next(one["modules"] for one in contracts if one["type"] == "independence")
    rooms = {path.stem for path in (SOURCE / "control").iterdir() if not path.stem.startswith("__")}
    assert held == [f"moorage.control.{room}" for room in sorted(rooms - {"framework", "registry"})]


def test_the_patterns_find_what_they_are_for(tmp_path: Path) -> None:
    text = tmp_path / "text.md"
    text.write_text(
        "Whoever comes.\nSee the module.\nNext: `store`.\nThe documents' stories.\nThe documents of a kind.\n"
    )
    assert len(VAGUE.findall(text.read_text())) == 3
    assert len(UNNAMED_KEPS.findall(text.read_text())) == 1
