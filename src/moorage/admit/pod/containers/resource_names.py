"""What a resource's name says about it: who may ask for it, is it counted in whole numbers, may it be overcommitted?

In: a resource name. Out: a `ResourceRules`, made once per name. Kubernetes: pkg/apis/core/helper, validateResourceName,
validateContainerResourceName, validatePodResourceName.
"""

from functools import lru_cache

import msgspec

from moorage.model.names import label_key_errors
from moorage.model.quantity import QuantityError, parse_quantity

POD_LEVEL_RESOURCES = ("cpu", "hugepages-", "memory")
_COUNTED_OBJECTS = frozenset(
    {
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    }
)
_COMPUTE = frozenset({"cpu", "ephemeral-storage", "memory"})
_STANDARD = (
    _COUNTED_OBJECTS
    | _COMPUTE
    | {f"{side}.{name}" for side in ("requests", "limits") for name in _COMPUTE}
    | {"storage", "requests.storage"}
)
_HUGE_PAGES = "hugepages-"
_QUOTA_HUGE_PAGES = "requests.hugepages-"
_QUOTA_PREFIX = "requests."
_NATIVE_PREFIX = "kubernetes.io/"
_ORDINARY_LENGTH = 256  # of names worth remembering


class ResourceRules(msgspec.Struct, frozen=True):
    """The rules of one resource, by its name. `is_plain`: any amount that is not negative will do for a container."""

    name_errors: tuple[str, ...]
    container_errors: tuple[str, ...]
    allowed_at_pod_level: bool
    is_whole: bool
    is_huge_pages: bool
    is_cpu_or_memory: bool
    may_be_overcommitted: bool
    page_size: int | None
    is_plain: bool


def resource_rules(name: str) -> ResourceRules:
    return _remembered_rules(name) if len(name) <= _ORDINARY_LENGTH else _rules(name)


def _rules(name: str) -> ResourceRules:
    huge_pages = name.startswith(_HUGE_PAGES)
    native = is_native_resource(name)
    name_errors = _name_errors(name)
    container_errors = name_errors + _container_errors(name, native, huge_pages)
    whole = name in _COUNTED_OBJECTS or _is_extended(name)
    return ResourceRules(
        name_errors=name_errors,
        container_errors=container_errors,
        allowed_at_pod_level=name in ("cpu", "memory") or huge_pages,
        is_whole=whole,
        is_huge_pages=huge_pages,
        is_cpu_or_memory=name in ("cpu", "memory"),
        may_be_overcommitted=native and not huge_pages,
        page_size=_page_size(name) if huge_pages else None,
        is_plain=not container_errors and not whole and not huge_pages,
    )


_remembered_rules = lru_cache(maxsize=1024)(_rules)


def is_native_resource(name: str) -> bool:
    """Kubernetes' own: without a prefix, or in a kubernetes.io namespace."""
    return "/" not in name or _NATIVE_PREFIX in name


def _is_extended(name: str) -> bool:
    """Somebody else's, and still a valid name when a quota puts `requests.` in front of it."""
    if is_native_resource(name) or name.startswith(_QUOTA_PREFIX):
        return False
    return not label_key_errors(f"{_QUOTA_PREFIX}{name}")


def _name_errors(name: str) -> tuple[str, ...]:
    errors = label_key_errors(name)
    if (
        not errors
        and "/" not in name
        and name not in _STANDARD
        and not name.startswith((_HUGE_PAGES, _QUOTA_HUGE_PAGES))
    ):
        errors.append("must be a standard resource type or fully qualified")
    return tuple(errors)


def _container_errors(name: str, native: bool, huge_pages: bool) -> tuple[str, ...]:
    if "/" not in name:
        return () if name in _COMPUTE or huge_pages else ("must be a standard resource for containers",)
    return () if native or _is_extended(name) else ("doesn't follow extended resource name standard",)


def _page_size(name: str) -> int | None:
    """In bytes; None where the name carries no positive whole number of them."""
    try:
        size = parse_quantity(name.removeprefix(_HUGE_PAGES))
    except QuantityError:
        return None
    whole = size.sign() > 0 and size.milli_value() % 1000 == 0
    return (size.value() or None) if whole else None  # a size too big to count in bytes divides nothing
