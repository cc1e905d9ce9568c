"""Declare what expressions of policies and webhooks may refer to: the request, its objects, parameters, variables.

`object`, `oldObject` and `params` are of unknown type; `request` and `namespaceObject` have declared fields;
`variables` has those that were compiled before. Kubernetes: apiserver/pkg/admission/plugin/cel (compile.go,
composition.go), with the base environment of version 1.36 in cel/environment/base.go, which has no cel.bind.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from moorage.match.cel import types
from moorage.match.cel.constructed import FindType
from moorage.match.cel.environment import KUBERNETES_FUNCTIONS, Environment, ObjectField
from moorage.match.cel.functions import Function
from moorage.match.cel.types import Type, TypeKind

OBJECT, OLD_OBJECT, PARAMS, REQUEST = "object", "oldObject", "params", "request"
NAMESPACE, AUTHORIZER, VARIABLES = "namespaceObject", "authorizer", "variables"
REQUEST_RESOURCE = "authorizer.requestResource"
#: The type whose fields are the variables of a policy.
VARIABLES_TYPE = "kubernetes.variables"

Fields = Mapping[str, ObjectField]


class ExtraTypes(NamedTuple):
    """What an environment offers beyond that of conditions, such as the objects that mutations construct."""

    functions: tuple[Function, ...] = ()
    constructed: FindType | None = None


NO_EXTRAS = ExtraTypes()


class Offered(NamedTuple):
    """Which variables an expression may refer to besides those that all may."""

    params: bool = False
    authorizer: bool = True
    composes: bool = True  # `variables`: not of webhooks


def policy_environment(
    offered: Offered, variables: dict[str, ObjectField] | None = None, extras: ExtraTypes = NO_EXTRAS
) -> Environment:
    """Return the environment of an expression; `variables` are those compiled so far, to which more may be added."""
    base = _base(offered) if extras is NO_EXTRAS else _with_extras(offered, extras)
    if variables is None:
        return base
    return replace(base, objects={**base.objects, VARIABLES_TYPE: variables})


def type_of_variable(result: Type | None) -> Type:
    """Return the type by which other expressions know a variable; None is the result of one that does not compile."""
    if result is None:
        return types.DYN
    if result in _PLAIN:
        return result
    if result.kind is TypeKind.LIST:
        return types.list_of(type_of_variable(result.parameters[0]))
    if result.kind is TypeKind.MAP:
        key, value = result.parameters
        return types.map_of(type_of_variable(key), type_of_variable(value))
    return types.DYN


@lru_cache(maxsize=16)
def _base(offered: Offered) -> Environment:
    return _with_extras(offered, NO_EXTRAS)


def _with_extras(offered: Offered, extras: ExtraTypes) -> Environment:
    variables = {
        OBJECT: types.DYN,
        OLD_OBJECT: types.DYN,
        NAMESPACE: types.struct("kubernetes.Namespace"),
        REQUEST: types.struct("kubernetes.AdmissionRequest"),
    }
    if offered.params:
        variables[PARAMS] = types.DYN
    if offered.authorizer:
        variables |= {AUTHORIZER: types.AUTHORIZER, REQUEST_RESOURCE: types.RESOURCE_CHECK}
    objects = dict(_OBJECTS)
    if offered.composes:
        variables[VARIABLES] = types.struct(VARIABLES_TYPE)
        objects[VARIABLES_TYPE] = {}
    return Environment(
        KUBERNETES_FUNCTIONS + extras.functions if extras.functions else KUBERNETES_FUNCTIONS,
        variables=variables,
        objects=objects,
        constructed=extras.constructed,
        objects_are_maps=True,
        has_bindings=False,
    )


def _fields(declared: Mapping[str, Type]) -> dict[str, ObjectField]:
    return {name: ObjectField(type_) for name, type_ in declared.items()}


def _texts(names: str) -> dict[str, Type]:
    return dict.fromkeys(names.split(), types.STRING)


_PLAIN = frozenset(
    (
        types.ANY,
        types.BOOL,
        types.BYTES,
        types.DOUBLE,
        types.DURATION,
        types.INT,
        types.NULL,
        types.STRING,
        types.TIMESTAMP,
        types.UINT,
    )
)
_STRINGS = types.list_of(types.STRING)
_BY_NAME = types.map_of(types.STRING, types.STRING)
_KIND = types.struct("kubernetes.GroupVersionKind")
_RESOURCE = types.struct("kubernetes.GroupVersionResource")
_TIMES = {"creationTimestamp": types.TIMESTAMP, "deletionTimestamp": types.TIMESTAMP}
_OBJECTS: dict[str, dict[str, ObjectField]] = {
    _KIND.name: _fields(_texts("group version kind")),
    _RESOURCE.name: _fields(_texts("group version resource")),
    "kubernetes.UserInfo": _fields(
        {**_texts("username uid"), "groups": _STRINGS, "extra": types.map_of(types.STRING, _STRINGS)}
    ),
    "kubernetes.AdmissionRequest": _fields(
        {
            "kind": _KIND,
            "resource": _RESOURCE,
            "requestKind": _KIND,
            "requestResource": _RESOURCE,
            **_texts("subResource requestSubResource name namespace operation"),
            "userInfo": types.struct("kubernetes.UserInfo"),
            "dryRun": types.BOOL,
            "options": types.DYN,
        }
    ),
    "kubernetes.Namespace": _fields(
        {
            "metadata": types.struct("kubernetes.NamespaceMetadata"),
            "spec": types.struct("kubernetes.NamespaceSpec"),
            "status": types.struct("kubernetes.NamespaceStatus"),
        }
    ),
    "kubernetes.NamespaceMetadata": _fields(
        {
            **_texts("name generateName namespace UID resourceVersion"),
            **_TIMES,
            "labels": _BY_NAME,
            "annotations": _BY_NAME,
            "deletionGracePeriodSeconds": types.INT,
            "generation": types.INT,
            "finalizers": _STRINGS,
        }
    ),
    "kubernetes.NamespaceSpec": _fields({"finalizers": _STRINGS}),
    "kubernetes.NamespaceStatus": _fields(
        {"conditions": types.list_of(types.struct("kubernetes.NamespaceCondition")), "phase": types.STRING}
    ),
    "kubernetes.NamespaceCondition": _fields(
        {**_texts("status type message reason"), "lastTransitionTime": types.TIMESTAMP}
    ),
}
