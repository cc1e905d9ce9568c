"""A vector file → its cases: `{"description": …, "cases": [{"group", "in", "out"}, …]}`, plain or gzipped.

What a file has in `common` for all of its cases is put into each of them. Gzip is told by the first bytes, not by the
name. What cannot be read raises `UnreadableError` with one sentence.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_GZIP_MAGIC = b"\x1f\x8b"


class UnreadableError(Exception):
    """A file that is not a vector file, with the reason."""


def read_cases(path: Path) -> list[Any]:
    try:
        content = path.read_bytes()
        if content.startswith(_GZIP_MAGIC):
            content = gzip.decompress(content)
        document = json.loads(content)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UnreadableError(f"damaged gzip data: {error}") from error
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"not JSON: {error}") from error
    cases = document.get("cases") if isinstance(document, dict) else None
    if not isinstance(cases, list):
        raise UnreadableError('not a vector file: no list "cases" at the top')
    if not cases:
        raise UnreadableError("holds no cases, so it shows nothing")
    if "common" in document:
        return [{**case, "common": document["common"]} if isinstance(case, dict) else case for case in cases]
    return cases


def case_name(kind: str, case: object) -> str:
    """A name for a case wherever it stands: its own, or kind, group and a digest of what is given."""
    given: object = None
    group = ""
    if isinstance(case, dict):
        if "name" in case:
            return f"{kind}:{case['name']}"
        given = case.get("in")
        group = str(case.get("group", ""))
        if not group and isinstance(given, dict):  # cel_spec groups by file and section
            group = "/".join(str(given[part]) for part in ("file", "section", "name") if part in given)
    digest = hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()[:8]
    return ":".join(part for part in (kind, group, digest) if part)
