"""`moorage lint` as a user runs it: the real command, its exit codes, its output, its manners."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from tests.e2e.forked_command import forked_moorage
from tests.processes import started

MOORAGE = [sys.executable, "-m", "moorage"]
GATES = "--feature-gates=AllAlpha=true"
CLEAN = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: a, image: b}]\n"
GATED = CLEAN + "  tolerations:\n  - key: sla\n    operator: Gt\n    value: '950'\n"
REJECTED = CLEAN + "  tolerations:\n  - key: sla\n    operator: Gt\n    value: '007'\n"
SURPRISING = CLEAN + "  tolerations:\n  - {key: sla, operator: Lt, value: '0'}\n"


def moorage(
    *arguments: str, stdin: str | bytes | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    process = forked_moorage(arguments, stdin, cwd)
    assert "Traceback" not in process.stdout + process.stderr
    return process


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in {"clean": CLEAN, "gated": GATED, "rejected": REJECTED, "surprising": SURPRISING}.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["clean.yaml"], 0),
        (["gated.yaml"], 1),
        ([GATES, "gated.yaml"], 0),
        ([GATES, "rejected.yaml"], 1),
        ([GATES, "surprising.yaml"], 1),
        ([GATES, "."], 1),
        ([GATES, "--exit-zero", "."], 0),
        ([GATES, "--select", "cel-*", "."], 0),
        ([GATES, "--ignore", "rejected", "--ignore", "toleration-*", "."], 0),
        ([GATES, "clean.yaml", "gone.yaml"], 2),
        ([GATES, "--exit-zero", "rejected.yaml", "gone.yaml"], 2),
        (["--feature-gates=Nope=true", "clean.yaml"], 2),
        (["--feature-gates=AllAlpha=maybe", "clean.yaml"], 2),
        (["--feature-gates=AllAlpha", "clean.yaml"], 2),
        (["--select", "nope", "clean.yaml"], 2),
        (["--output", "xml", "clean.yaml"], 2),
        (["--nope", "clean.yaml"], 2),
        ([], 2),
    ],
)
def test_exit_codes(files: Path, arguments: list[str], code: int) -> None:
    process = moorage("lint", *arguments, cwd=files)
    assert process.returncode == code, process.stdout + process.stderr
    if code == 2:
        assert process.stderr


def test_what_a_rejection_looks_like(files: Path) -> None:
    process = moorage("lint", GATES, "rejected.yaml", cwd=files)
    assert process.stdout.startswith(
        "rejected.yaml\n"
        "  9:5      error [rejected] Pod default/web\n"
        '    spec.tolerations[0].value: Invalid value: "007": must be a valid decimal integer in canonical form\n'
        "      9 |     value: '007'\n"
        "        |     ^^^^^^^^^^^^\n"
        '    hint: write "7"\n'
    )
    assert process.stdout.endswith(
        "1 error: 1 object in 1 file checked. `moorage lint --explain RULE` tells more about a rule.\n"
    )
    assert process.stderr == ""


def test_what_the_input_needs(files: Path) -> None:
    process = moorage("lint", GATES, "gated.yaml", cwd=files)
    assert (
        "Kubernetes 1.35 and later accept it as written with --feature-gates=TaintTolerationComparisonOperators=true."
        in (process.stdout)
    )
    assert "First needed by Pod default/web, spec.tolerations[0].operator (gated.yaml:8)." in process.stdout


def test_an_unknown_gate_lists_the_known_ones(files: Path) -> None:
    process = moorage("lint", "--feature-gates=Nope=true", "clean.yaml", cwd=files)
    assert "Nope" in process.stderr
    assert "TaintTolerationComparisonOperators" in process.stderr
    assert "AllAlpha" in process.stderr


def test_unreadable_files_are_named_and_the_others_linted(files: Path) -> None:
    process = moorage("lint", GATES, "gone.yaml", "surprising.yaml", cwd=files)
    assert process.stderr == "moorage: gone.yaml: No such file or directory\n"
    assert "toleration-never-matches" in process.stdout
    assert process.returncode == 2


@pytest.mark.parametrize("data", [b"a: [\n", b"\x00\x01", b"\xff\xfe\xfd", b"{", b"- " * 3_000])
def test_input_that_is_no_yaml(data: bytes) -> None:
    process = moorage("lint", "-", stdin=data)
    assert process.returncode == 2
    assert "unreadable" in process.stdout


def test_standard_input() -> None:
    assert moorage("lint", GATES, "-", stdin=SURPRISING).stdout.startswith("<stdin>\n  7:")
    assert moorage("lint", GATES, stdin=SURPRISING).returncode == 1
    assert moorage("lint", stdin="").returncode == 2
    assert moorage("lint", "--allow-empty", stdin="").returncode == 0
    assert "Nothing to lint" in moorage("lint").stderr


def test_empty_files_and_directories(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").touch()
    (tmp_path / "dir").mkdir()
    process = moorage("lint", "--allow-empty", "empty.yaml", "dir", cwd=tmp_path)
    assert (process.returncode, process.stdout) == (0, "No findings: 0 objects in 1 file checked.\n")
    process = moorage("lint", "dir", cwd=tmp_path)
    assert (process.returncode, process.stdout) == (2, "Nothing to check: 0 objects in 0 files.\n")
    assert process.stderr.startswith("moorage: dir: no *.yaml, *.yml or *.json files\n")


def test_json(files: Path) -> None:
    document = json.loads(moorage("lint", GATES, "--output", "json", ".", "gone.yaml", cwd=files).stdout)
    assert [finding["rule"] for finding in document["findings"]] == ["rejected", "toleration-never-matches"]
    assert document["findings"][0]["file"] == "./rejected.yaml"
    assert document["problems"] == [{"file": "gone.yaml", "reason": "No such file or directory"}]
    assert document["needs"]["gates"][0]["gate"] == "TaintTolerationComparisonOperators"
    assert document["summary"]["objects"] == 4


def test_sarif(files: Path) -> None:
    (run,) = json.loads(moorage("lint", GATES, "--output", "sarif", ".", cwd=files).stdout)["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["rejected", "toleration-never-matches"]


def test_junit(files: Path) -> None:
    root = ElementTree.fromstring(moorage("lint", GATES, "--output", "junit", ".", cwd=files).stdout)
    assert [suite.get("failures") for suite in root] == ["0", "0", "1", "1"]


def test_github(files: Path) -> None:
    process = moorage("lint", GATES, "--output", "github", ".", cwd=files)
    assert process.stdout.startswith("::error file=rejected.yaml,line=9,col=5,title=rejected Pod default/web::")


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "github"])
def test_names_and_texts_of_any_bytes(tmp_path: Path, form: str) -> None:
    name = os.fsdecode(b"\xff \x1b[31m.yaml")
    (tmp_path / name).write_bytes(CLEAN.replace("web", '"\\e[31m\\0 <b>"').encode())
    command, language = [*MOORAGE, "lint", "--output", form, name, "."], {**os.environ, "LC_ALL": "C"}
    process = subprocess.run(
        command, cwd=tmp_path, env=language, capture_output=True, encoding="utf-8", check=False, timeout=60
    )
    assert process.returncode == 1
    assert "Traceback" not in process.stdout + process.stderr
    assert "\x1b" not in process.stdout
    if form == "junit":
        ElementTree.fromstring(process.stdout)
    elif form in ("json", "sarif"):
        json.loads(process.stdout)


def test_help_and_version_and_rules() -> None:
    assert "lint" in moorage("--help").stdout
    assert moorage("--version").stdout == "moorage, version 0.14.0\n"
    assert "Exit code: 0 nothing found" in moorage("lint", "--help").stdout
    assert "cel-constant" in moorage("lint", "--rules").stdout
    wrong = moorage("lnt")
    assert (wrong.returncode, "Did you mean 'lint'?" in wrong.stderr) == (2, True)


def test_strict(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(CLEAN + "  tolerationss: []\n", encoding="utf-8")
    assert "warning [unknown-field]" in moorage("lint", "a.yaml", cwd=tmp_path).stdout
    process = moorage("lint", "--strict", "a.yaml", cwd=tmp_path)
    assert "error [unknown-field]" in process.stdout
    assert 'strict decoding error: unknown field "spec.tolerationss"' in process.stdout
    assert "did you mean tolerations?" in process.stdout


def on_a_terminal(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> str:
    """What the command prints where its standard output is a terminal."""
    parent, child = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    environment |= {"TERM": "xterm", **(env or {})}
    seen = b""
    with started(
        [*MOORAGE, *arguments], cwd=cwd, stdin=subprocess.DEVNULL, stdout=child, stderr=child, env=environment
    ):
        os.close(child)
        while select.select([parent], [], [], 60)[0]:
            try:
                block = os.read(parent, 65_536)
            except OSError:  # what Linux says when the other side is closed
                break
            if not block:
                break
            seen += block
    os.close(parent)
    return seen.decode()


def test_colour_only_on_a_terminal(files: Path) -> None:
    assert "\x1b[1;31merror\x1b[0m" in on_a_terminal("lint", GATES, "rejected.yaml", cwd=files)
    assert "\x1b[" not in on_a_terminal("lint", GATES, "rejected.yaml", cwd=files, env={"NO_COLOR": "1"})
    assert "\x1b[" not in on_a_terminal("lint", GATES, "--color", "never", "rejected.yaml", cwd=files)
    assert "\x1b[" not in moorage("lint", GATES, "rejected.yaml", cwd=files).stdout
    assert "\x1b[" in moorage("lint", GATES, "--color", "always", "rejected.yaml", cwd=files).stdout


def test_the_caret_on_a_terminal(files: Path) -> None:
    shown = on_a_terminal("lint", GATES, "--color", "never", "rejected.yaml", cwd=files)
    assert "      9 |     value: '007'\r\n        |     ^^^^^^^^^^^^\r\n" in shown


def test_control_c_is_quiet(files: Path) -> None:
    pipe = files / "pipe.yaml"
    os.mkfifo(pipe)
    with (
        started(
            [*MOORAGE, "lint", "pipe.yaml"],
            cwd=files,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
        pipe.open("wb"),  # opens when the command has opened its end, and so is in the middle of its work
    ):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (out, err) == (b"", b"")


def test_a_reader_that_goes_away_is_no_reason_to_complain(tmp_path: Path) -> None:
    text = "---\n".join([SURPRISING] * 3_000)
    (tmp_path / "many.yaml").write_text(text, encoding="utf-8")
    command = [*MOORAGE, "lint", GATES, "many.yaml"]
    with started(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


def test_an_output_that_cannot_be_written(files: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run(
            [*MOORAGE, "lint", GATES, "."], cwd=files, stdout=full, stderr=subprocess.PIPE, check=False, timeout=60
        )
    assert process.returncode == 2
    assert process.stderr == b"moorage: cannot write to standard output: No space left on device\n"


def test_process_substitution(files: Path) -> None:
    script = f"{MOORAGE[0]} -m moorage lint {GATES} <(cat surprising.yaml)"
    process = subprocess.run(["bash", "-c", script], cwd=files, capture_output=True, text=True, check=False, timeout=60)
    assert process.returncode == 1
    assert "toleration-never-matches" in process.stdout


def test_a_note_fails_no_run(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    spec = "spec: {priorityClassName: high, containers: [{name: a, image: b}]}\n"
    file.write_text(f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\n{spec}")
    ran = moorage("lint", str(file))
    assert (ran.returncode, "[priority-class-missing]" in ran.stdout, "1 note" in ran.stdout) == (0, True, True)
    assert 'failures="0"' in moorage("lint", "-o", "junit", str(file)).stdout
