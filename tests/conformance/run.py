#!/usr/bin/env python3
"""Run vector files against Moorage: `python tests/conformance/run.py FILE...`.

In: files of the shapes that real Kubernetes' answers were recorded in, plain or gzipped. Out: for each file
`<file>: <passed>/<total>` and its first differences, last `N passed, M failed`. Exit code 0 when all pass, 1 when a
case fails, 2 for bad usage or a file that cannot be run. A check that crashes is a failed case with the exception's
text. Started with a Python that has no Moorage, it carries on with the one of `make setup`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
if str(_ROOT) not in sys.path:  # run as a script, from anywhere
    sys.path.insert(0, str(_ROOT))
_OWN_PYTHON = _ROOT / ".venv" / "bin" / "python"
if __name__ == "__main__" and not find_spec("moorage") and _OWN_PYTHON.exists():
    os.execv(_OWN_PYTHON, [str(_OWN_PYTHON), __file__, *sys.argv[1:]])

from tests.conformance.kinds import BY_NAME, Check, Kind, NoCheckError, recognise  # noqa: E402
from tests.conformance.known_exceptions import KNOWN_EXCEPTIONS  # noqa: E402
from tests.conformance.vector_file import UnreadableError, case_name, read_cases  # noqa: E402

SHOWN = 5
MAX_DIFFERENCE_LENGTH = 2_000


@dataclass
class Report:
    """What came of one file. `failed` and `excepted` map positions to (name, difference) and (name, reason)."""

    file: str
    kind: str
    total: int
    failed: dict[int, tuple[str, str]] = field(default_factory=dict)
    excepted: dict[int, tuple[str, str]] = field(default_factory=dict)

    @property
    def passed(self) -> int:
        return self.total - len(self.failed) - len(self.excepted)

    def text(self, shown: int) -> str:
        lines = [f"{self.file}: {self.passed}/{self.total}"]
        lines += [f"  known exception {name}: {reason}" for name, reason in self.excepted.values()]
        for position, (name, difference) in list(self.failed.items())[:shown]:
            lines += [f"  case {position} ({name}):", textwrap.indent(difference, "    ", lambda line: True)]
        if len(self.failed) > shown:
            lines.append(f"  … and {len(self.failed) - shown} more")
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "kind": self.kind,
            "total": self.total,
            "passed": self.passed,
            "failed": len(self.failed),
            "differences": [
                {"case": position, "name": name, "difference": difference}
                for position, (name, difference) in self.failed.items()
            ],
            "exceptions": [
                {"case": at, "name": name, "reason": reason} for at, (name, reason) in self.excepted.items()
            ],
        }


def judge(check: Check, case: Any) -> str | None:
    """What differs, or None. Nothing a case can do to a check ends the run."""
    try:
        difference = check(case)
    except Exception as error:
        difference = f"raised {type(error).__name__}: {error}"
    if difference is not None and len(difference) > MAX_DIFFERENCE_LENGTH:
        difference = f"{difference[:MAX_DIFFERENCE_LENGTH]}… ({len(difference)} characters)"
    return difference


def run_cases(file: str, kind: Kind, cases: list[Any], exceptions: dict[str, str] | None = None) -> Report:
    exceptions = KNOWN_EXCEPTIONS if exceptions is None else exceptions
    check = kind.check()
    report = Report(file, kind.name, len(cases))
    for position, case in enumerate(cases):
        difference = judge(check, case)
        if difference is None and not exceptions:
            continue
        name = case_name(kind.name, case)
        if difference is not None and name in exceptions:
            report.excepted[position] = (name, exceptions[name])
        elif difference is not None:
            report.failed[position] = (name, difference)
        elif name in exceptions:
            report.failed[position] = (name, "passes, yet known_exceptions.py lists it: take it off")
    return report


def run_file(file: str, forced: Kind | None, only: str = "") -> Report:
    path = Path(file)
    cases = read_cases(path)
    kind = forced or recognise(path.name, cases)
    if kind is None:
        raise UnreadableError(f"cannot tell what kind of vectors these are; say --kind ({', '.join(BY_NAME)})")
    return run_cases(file, kind, [case for case in cases if only in case_name(kind.name, case)] if only else cases)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="run.py", description="Run conformance vectors recorded from real Kubernetes against Moorage."
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a vector file, plain or gzipped")
    parser.add_argument("--kind", choices=list(BY_NAME), metavar="NAME", help=f"one of {', '.join(BY_NAME)}")
    parser.add_argument(
        "--show", type=int, default=SHOWN, metavar="N", help="differences shown of each file (%(default)s)"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="run only cases whose name has this text")
    parser.add_argument("--json", action="store_true", help="one JSON document, with every difference")
    options = parser.parse_args(arguments)

    reports: list[Report] = []
    errors: dict[str, str] = {}
    for file in options.files:
        try:
            report = run_file(file, BY_NAME[options.kind] if options.kind else None, options.only)
        except (UnreadableError, NoCheckError) as error:
            errors[file] = str(error)
            print(f"{file}: error: {error}", file=sys.stderr, flush=True)
            continue
        reports.append(report)
        if not options.json:
            print(report.text(max(options.show, 0)), flush=True)

    passed, failed = sum(report.passed for report in reports), sum(len(report.failed) for report in reports)
    if options.json:
        document = {
            "files": [report.as_json() for report in reports],
            "errors": [{"file": file, "error": error} for file, error in errors.items()],
            "passed": passed,
            "failed": failed,
        }
        print(json.dumps(document, indent=2))
    else:
        print(f"{passed} passed, {failed} failed")
    return 2 if errors else int(failed > 0)


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):  # vectors hold text that no terminal need be able to show
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        sys.exit(main())
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
