"""The base of all typed views, and Go's two integer widths.

A view is a frozen msgspec struct whose class name is the Go type's name, whose attribute names are the JSON names, and
whose defaults are Go's zero values: absent strings are "", absent lists (), absent pointers None. Views are for
logic; the raw document stays the truth, so a view need not keep what it does not know.
Kubernetes: the Go structs of k8s.io/api v1.36.
"""

from typing import Annotated

from msgspec import Meta, Struct

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

Int32 = Annotated[int, Meta(ge=INT32_MIN, le=INT32_MAX, title="int32")]
Int64 = Annotated[int, Meta(ge=INT64_MIN, le=INT64_MAX, title="int64")]


class View(Struct, frozen=True, gc=False):
    """A read-only, typed reading of (a part of) a raw document.

    Views form trees, never cycles, so the cycle collector may pass them by.
    """
