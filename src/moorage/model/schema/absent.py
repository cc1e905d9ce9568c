"""Lists and maps that a document does not have: empty ones which know that they were never written.

Views hold these where a field is absent or null, so that `labels: {}` and no labels at all are the same to all logic
(they are equal, and hash alike) and still two things to messages: Go prints the first as `{}` and the second as
`null`. Kubernetes: empty and nil slices and maps.
"""

from typing import Any


class AbsentMap(dict[str, Any]):
    """No map. It is one object for all views, so it must stay empty; views are only read."""

    __slots__ = ()


class AbsentList(tuple[Any, ...]):
    """No list."""

    __slots__ = ()


ABSENT_MAP = AbsentMap()
ABSENT_LIST: AbsentList = AbsentList()
