"""Names of properties as CEL identifiers: `a-b` is `a__dash__b`, `namespace` is `__namespace__`.

Kubernetes: apiserver/pkg/cel/escaping.go.
"""

import re
from functools import lru_cache
from typing import Final

from moorage.match.cel.parse.tokens import RESERVED

_ESCAPED: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_NAME: Final = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*", re.ASCII)
_TO_ESCAPE: Final = re.compile(r"__|[./-]")


@lru_cache(maxsize=4096)
def escape_name(name: str) -> str | None:
    """Return the identifier of a property, or None for one that expressions cannot name."""
    if name in RESERVED:
        return f"__{name}__"
    if _NAME.fullmatch(name) is None:
        return None
    return _TO_ESCAPE.sub(lambda found: _ESCAPED[found[0]], name)
