"""Find the parameters that a binding gives to a policy, by name or by selector.

Kubernetes: CollectParams in plugin/policy/generic/policy_dispatcher.go, ensureParamsForPolicyLocked in
policy_source.go.
"""

from collections.abc import Sequence

from moorage.admit.extension.world import ExtensionWorld, ParamKindRow
from moorage.admit.raw import Raw
from moorage.match.label_selector import compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.kinds import kind_of
from moorage.model.types.extension.admission_policies import ParamKind, ParamRef

#: A policy without parameters is evaluated once.
NO_PARAMS: tuple[Raw | None, ...] = (None,)
_DENY = "Deny"


class ConfigurationError(Exception):
    """A policy or a binding cannot be applied as it is."""


def find_param_kind(kind: ParamKind | None, world: ExtensionWorld) -> ParamKindRow | None:
    """Return the kind of a policy's parameters. Raises ConfigurationError if there is no such kind."""
    if kind is None:
        return None
    row = world.param_kind(kind.apiVersion, kind.kind)
    if row is None:
        group, _, version = kind.apiVersion.rpartition("/")
        shown = f"{group}/{version}, Kind={kind.kind}"
        raise ConfigurationError(f"failed to find resource referenced by paramKind: '{shown}'")
    return row


def collect_params(
    row: ParamKindRow | None, reference: ParamRef | None, namespace: str, world: ExtensionWorld
) -> Sequence[Raw | None]:
    """Return the parameters for a request in a namespace: empty if they are not found and need not be.

    Raises ConfigurationError.
    """
    if row is None or reference is None:
        return NO_PARAMS
    place = _param_namespace(row, reference, namespace)
    params = _find(row, reference, place, world)
    if not params and reference.parameterNotFoundAction == _DENY:
        raise ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return params


def _param_namespace(row: ParamKindRow, reference: ParamRef, namespace: str) -> str:
    """Return the namespace of parameters: the one that is named, else that of the request."""
    if not row.namespaced:
        if reference.namespace:
            raise ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    place = reference.namespace or namespace
    if not place:
        raise ConfigurationError(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        )
    return place


def sought_params(row: ParamKindRow | None, reference: ParamRef | None, namespace: str) -> str:
    """Describe what a binding looks for, such as `ConfigMap default/limits`; empty if it looks for nothing."""
    if row is None or reference is None:
        return ""
    place = (reference.namespace or namespace) if row.namespaced else ""
    if reference.name:
        return f"{row.kind.kind} {place}/{reference.name}" if place else f"{row.kind.kind} {reference.name}"
    try:
        labels = str(compile_label_selector(reference.selector))
    except SelectorError:
        labels = ""
    return f"{row.kind.kind}{f' in {place}' if place else ''} with {labels or 'any labels'}"


def _find(row: ParamKindRow, reference: ParamRef, namespace: str, world: ExtensionWorld) -> Sequence[Raw | None]:
    if reference.name:
        if reference.selector is not None:
            raise ConfigurationError("paramRef.name and paramRef.selector are mutually exclusive")
        param = world.param(row.kind, namespace, reference.name)
        return () if param is None else (_shown(param, row),)
    if reference.selector is None:
        raise ConfigurationError("one of name or selector must be provided")
    try:
        compile_label_selector(reference.selector)
    except SelectorError as error:
        raise ConfigurationError(str(error)) from None
    return [_shown(param, row) for param in world.params(row.kind, namespace, reference.selector)]


def _shown(param: Raw, row: ParamKindRow) -> Raw:
    """Return a parameter as expressions see it: with apiVersion and kind, and those of built-in kinds without owners.

    Kubernetes' shared informers drop the owners of fields; those of custom kinds do not.
    """
    group, version, kind = row.kind
    if "kind" not in param or "apiVersion" not in param:
        param = {**param, "apiVersion": f"{group}/{version}" if group else version, "kind": kind}
    metadata = param.get("metadata") or {}
    if "managedFields" not in metadata or kind_of(param) is None:
        return param
    kept = {name: value for name, value in metadata.items() if name != "managedFields"}
    return {**param, "metadata": kept}
