"""Help pod validation: all containers of a spec, paths inside volumes, white space as Go knows it.

Kubernetes: VisitContainersWithPath (pkg/apis/core/pods), validateLocalDescendingPath, validatePathNoBacksteps,
ValidateLocalNonReservedPath, strings.TrimSpace.
"""

from collections.abc import Iterator
from typing import TypeAlias

from moorage.model.field_error import FieldError, FieldErrors, invalid, required_one_of
from moorage.model.text.readers import reads_text
from moorage.model.types.container import Container, EphemeralContainer
from moorage.model.types.pod import PodSpec

AnyContainer: TypeAlias = Container | EphemeralContainer


def all_containers(spec: PodSpec) -> tuple[AnyContainer, ...]:
    return (*spec.initContainers, *spec.containers, *spec.ephemeralContainers)


def containers_with_paths(spec: PodSpec, path: str) -> Iterator[tuple[AnyContainer, str]]:
    for index, init in enumerate(spec.initContainers):
        yield init, f"{path}.initContainers[{index}]"
    for index, container in enumerate(spec.containers):
        yield container, f"{path}.containers[{index}]"
    for index, ephemeral in enumerate(spec.ephemeralContainers):
        yield ephemeral, f"{path}.ephemeralContainers[{index}]"


NO_BACKSTEPS = "must not contain '..'"


@reads_text(".", "/", "a")
def has_backsteps(value: str) -> bool:
    return ".." in value and ".." in value.split("/")


def validate_no_backsteps(value: str, path: str) -> list[FieldError]:
    return [invalid(path, value, NO_BACKSTEPS)] if has_backsteps(value) else []


def validate_descending_path(value: str, path: str) -> list[FieldError]:
    """Relative, and without `..` as an element."""
    errors = [invalid(path, value, "must be a relative path")] if value.startswith("/") else []
    return errors + validate_no_backsteps(value, path)


def validate_local_path(value: str, path: str) -> FieldErrors:
    """Descending, and not beginning with `..`, which the kubelet reserves for its own files."""
    yield from validate_descending_path(value, path)
    if value.startswith("..") and not value.startswith("../"):
        yield invalid(path, value, "must not start with '..'")


#: Unlike Python's `str.strip` without U+001C to U+001F, which Kubernetes accepts in names.
_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
)


def trim_space(text: str) -> str:
    return text.strip(_SPACE)


_PULL_POLICIES = ("Always", "IfNotPresent", "Never")


def validate_pull_policy(policy: str, path: str) -> list[FieldError]:
    return required_one_of(policy, _PULL_POLICIES, path)
