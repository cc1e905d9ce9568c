"""Field paths as Kubernetes renders them, taken apart so that a place in a document can be found.

In: `spec.containers[0].resources.limits[cpu]`, `metadata.annotations[a.b/c]`,
`spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}`. Out: the steps from the root. Kubernetes renders
these in apimachinery/pkg/util/validation/field/path.go and never reads them.
"""

import re

# A name ends at a dot or a bracket. A subscript ends at the bracket that is followed by a new step or by the end, since
# the key of a map may itself hold dots, slashes and (if it is invalid) brackets.
_STEP = re.compile(r"\.?(?:\[(?P<subscript>.*?)\](?=[.\[]|$)|(?P<name>[^.\[]+))", re.DOTALL)

# Upstream reports some errors under a path that is not the field's.
_MISREPORTED: dict[tuple[str, ...], tuple[str, ...]] = {("metadata", "taints"): ("spec", "taints")}


def parse_field_path(path: str) -> tuple[str, ...]:
    """Return the steps of a rendered path; list indices are steps of digits. Parts that name no field end the path."""
    steps: list[str] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            break
        name, subscript = match["name"], match["subscript"]
        if name is not None and name.startswith("{"):
            break
        steps.append(subscript if name is None else name)
        at = match.end()
    parsed = tuple(steps)
    actual = _MISREPORTED.get(parsed[:2])
    return parsed if actual is None else actual + parsed[2:]


def child_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
