"""The runner: what it prints, how it exits, and that it can fail."""

from __future__ import annotations

import gzip
import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conformance import run
from tests.conformance.kinds import BY_NAME, Kind, recognise
from tests.conformance.run import main, run_cases
from tests.conformance.vector_file import case_name, read_cases

SCRIPT = Path(run.__file__)

PASSING = [
    {"group": "parse", "in": {"op": "parse", "s": "v1.2"}, "out": {"ok": True, "version": "1.2.0"}},
    {"group": "compare", "in": {"op": "compare", "a": "1.2.0-rc.1", "b": "1.2.0"}, "out": {"cmp": -1}},
]
TAMPERED = {"group": "parse", "in": {"op": "parse", "s": "v1.3"}, "out": {"ok": True, "version": "9.9.9"}}


def vector_file(path: Path, cases: list[Any]) -> str:
    content = json.dumps({"description": "written by a test", "cases": cases}).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return str(path)


def test_passing_vectors_exit_0_and_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = vector_file(tmp_path / "semver.json", PASSING)
    gzipped = vector_file(tmp_path / "hidden-semver_2.json.gz", PASSING[:1])
    assert main([plain, gzipped]) == 0
    assert capsys.readouterr().out == f"{plain}: 2/2\n{gzipped}: 1/1\n3 passed, 0 failed\n"


def test_gzip_is_told_by_content_not_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(vector_file(tmp_path / "semver.json.gz", PASSING)).rename(tmp_path / "semver.json")
    assert main([str(file)]) == 0
    assert capsys.readouterr().out.endswith("2 passed, 0 failed\n")


def test_a_tampered_vector_fails_and_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = vector_file(tmp_path / "semver.json", [*PASSING, TAMPERED])
    assert main([file]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{file}: 2/3"
    assert lines[1].startswith("  case 2 (semver:parse:")
    assert lines[2].startswith("    ")
    assert "1.3.0" in lines[2]
    assert "9.9.9" in lines[2]
    assert lines[-1] == "2 passed, 1 failed"


def test_only_the_first_differences_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = vector_file(tmp_path / "semver.json", [TAMPERED] * 30)
    assert main([file, "--show", "2"]) == 1
    out = capsys.readouterr().out
    assert out.count("  case ") == 2
    assert "  … and 28 more\n0 passed, 30 failed\n" in out


def test_cases_can_be_chosen_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = vector_file(tmp_path / "semver.json", [{**case, "name": f"case-{at}"} for at, case in enumerate(PASSING)])
    assert main([file, "--only", "case-1"]) == 0
    assert capsys.readouterr().out == f"{file}: 1/1\n1 passed, 0 failed\n"


def test_what_cases_have_in_common_is_put_into_each(tmp_path: Path) -> None:
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps({"common": [{"kind": "Namespace"}], "cases": PASSING}))
    assert read_cases(file) == [{**case, "common": [{"kind": "Namespace"}]} for case in PASSING]


@pytest.mark.parametrize("case", [{}, {"in": {}, "out": {}}, {"in": None, "out": 3}, [], "text", None, 7])
def test_a_check_that_crashes_is_a_failed_case(
    case: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = vector_file(tmp_path / "semver.json", [*PASSING, case])
    assert main([file]) == 1
    out, err = capsys.readouterr()
    assert "    raised " in out
    assert out.endswith("2 passed, 1 failed\n")
    assert not err


def test_a_check_that_recurses_without_end_is_a_failed_case() -> None:
    def endless(case: dict[str, Any]) -> str | None:
        return endless(case)

    assert (run.judge(endless, {}) or "").startswith("raised RecursionError")


def test_a_huge_difference_is_cut() -> None:
    difference = run.judge(lambda case: "x" * 1_000_000, {})
    assert difference is not None
    assert len(difference) < 3_000
    assert difference.endswith("(1000000 characters)")


def test_json_for_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = vector_file(tmp_path / "semver.json", PASSING)
    bad = vector_file(tmp_path / "more_semver.json", [TAMPERED] * 9)
    missing = str(tmp_path / "semver_3.json")
    assert main(["--json", good, bad, missing]) == 2
    document = json.loads(capsys.readouterr().out)
    assert (document["passed"], document["failed"]) == (2, 9)
    assert [(file["file"], file["kind"], file["passed"], file["total"]) for file in document["files"]] == [
        (good, "semver", 2, 2),
        (bad, "semver", 0, 9),
    ]
    assert [difference["case"] for difference in document["files"][1]["differences"]] == list(range(9))
    assert document["errors"] == [{"file": missing, "error": "No such file or directory"}]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("semver.json", b"{", "not JSON: "),
        ("semver.json", b"\xff\xfe\xff", "not JSON: "),
        ("semver.json", b"[" * 100_000, "not JSON: "),
        ("semver.json", b"[1, 2]", 'no list "cases"'),
        ("semver.json", b'{"cases": {}}', 'no list "cases"'),
        ("semver.json", b'{"cases": []}', "holds no cases"),
        ("semver.json.gz", gzip.compress(b'{"cases": [1]}', mtime=0)[:-6], "damaged gzip data"),
        ("semver.json.gz", gzip.compress(b'{"cases": [1]}', mtime=0)[:-8] + b"12345678", "damaged gzip data"),
        ("semver.json.gz", b"\x1f\x8b\x08garbage garbage", "damaged gzip data"),
        ("clusters.json", b'{"cases": [{"group": "g", "in": {"nodes": []}, "out": {}}]}', "say --kind (semver, "),
        ("anything.json", b'{"cases": [1]}', "say --kind (semver, "),
    ],
    ids=itertools.count(),
)
def test_a_file_that_cannot_be_run_is_named_with_the_reason(
    name: str, content: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(content)
    good = vector_file(tmp_path / "good_semver.json", PASSING)
    assert main([str(tmp_path / name), good]) == 2
    out, err = capsys.readouterr()
    assert err.startswith(f"{tmp_path / name}: error: ")
    assert message in err
    assert err.count("\n") == 1
    assert out == f"{good}: 2/2\n2 passed, 0 failed\n"


def test_a_directory_is_no_vector_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"{tmp_path}: error: Is a directory\n"


@pytest.mark.parametrize("arguments", [[], ["--kind", "clusters", "x.json"], ["--no-such-option", "x.json"]])
def test_bad_usage_exits_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "usage: run.py" in capsys.readouterr().err


def test_kind_overrides_the_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = vector_file(tmp_path / "quantities.json", PASSING)
    assert main([file, "--kind", "semver"]) == 0
    assert capsys.readouterr().out.endswith("2 passed, 0 failed\n")


def test_a_kind_without_a_check_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = vector_file(tmp_path / "semver.json", PASSING)
    monkeypatch.setitem(BY_NAME, "semver", Kind("no_such_check", "semver", frozenset(), frozenset()))
    assert main([file, "--kind", "semver"]) == 2
    assert "nothing can check no_such_check" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("semver.json", "semver"),
        ("hidden-semver.json.gz", "semver"),
        ("semver_2.json", "semver"),
        ("node_selector_semver-17.json", "node_selector_semver"),
        ("node-selector.json", "node_selector"),
        ("Validate_Tolerations.json", "validate_tolerations"),
        ("x_cel_taint.json", "cel_taint"),
        ("validate_taints_b.json", "validate_taints"),
    ],
)
def test_a_file_is_recognised_by_the_longest_kind_in_its_name(name: str, kind: str) -> None:
    recognised = recognise(name, [])
    assert recognised is not None
    assert recognised.name == kind


def test_what_fits_two_kinds_is_not_guessed() -> None:
    ambiguous = [{"in": {"op": "parse", "s": "x"}, "out": {"ok": False, "error": "no"}}]
    assert recognise("unnamed.json", ambiguous) is None
    assert recognise("unnamed.json", [*ambiguous, PASSING[0]]) is BY_NAME["semver"]


def test_a_known_exception_is_shown_with_its_reason_and_fails_nothing() -> None:
    name = case_name("semver", TAMPERED)
    report = run_cases("semver.json", BY_NAME["semver"], [*PASSING, TAMPERED], {name: "the document says so"})
    assert (report.passed, report.failed) == (2, {})
    assert report.text(5) == f"semver.json: 2/3\n  known exception {name}: the document says so"


def test_a_known_exception_that_passes_is_a_failure() -> None:
    name = case_name("semver", PASSING[0])
    report = run_cases("semver.json", BY_NAME["semver"], PASSING, {name: "out of date"})
    assert list(report.failed) == [0]
    assert "take it off" in report.text(5)


def test_a_case_is_named_by_what_it_is_given_not_by_where_it_stands() -> None:
    assert case_name("semver", PASSING[0]) != case_name("semver", PASSING[1])
    assert case_name("semver", PASSING[0]) == case_name("semver", {**PASSING[0], "out": {}})


def test_it_runs_as_a_script_from_anywhere(tmp_path: Path) -> None:
    vector_file(tmp_path / "semver.json", [*PASSING, {**TAMPERED, "in": {"op": "parse", "s": "\ud800é"}}])
    process = subprocess.run(
        [sys.executable, str(SCRIPT), "semver.json"],
        cwd=tmp_path,
        env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
        capture_output=True,
        check=False,
    )
    assert process.returncode == 1, process.stderr
    assert process.stdout.startswith(b"semver.json: 2/3\n")
    assert process.stdout.endswith(b"2 passed, 1 failed\n")
    assert not process.stderr
