"""`python -m bench [--only THEME]... [--json FILE]`: measure, and print one table."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from pathlib import Path

from bench.result import Result, table
from bench.themes import THEMES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure what Moorage costs.")
    parser.add_argument("--only", action="append", choices=list(THEMES), metavar="THEME", help=", ".join(THEMES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE too")
    options = parser.parse_args()

    results: list[Result] = []
    for theme in options.only or THEMES:
        print(f"measuring {theme} …", file=sys.stderr, flush=True)
        results.extend(THEMES[theme]())
    print(table(results))
    if options.json:
        machine = {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system()}
        document = {"machine": machine, "results": [result.as_json() for result in results]}
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
