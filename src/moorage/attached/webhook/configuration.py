"""Write the MutatingWebhookConfigurations of attach: which requests are sent to the webhook, and what if it is down.

Ordinary objects cause no call: match conditions find the operators that Kubernetes does not know, and templates that
were lowered before and change now. ReplicaSets of a controller are never sent. `kube-system` is left out, because what
runs there must start without us, and so are namespaces and objects with `EXEMPT_LABEL`. No label exempts a node: its
kubelet could write that, and then forge its mirror.

Lowering fails open (`Ignore`): without the webhook the API server itself refuses the operators, in its own words, so
nothing wrong is stored, and all else works. Only a toleration that is removed from a lowered template meanwhile leaves
its affinity behind, which the controller repairs.

A write that adds a taint to a node fails closed (`Fail`), because a taint without its mirror would let pods land that
do not tolerate it. All other writes of nodes fail open: a node has to be able to join, its state taints have to come
and startup taints to go while no node runs the webhook, or it would never start again. Labels that are too many keep
pods away, and the controller repairs what was missed.

Kubernetes: admissionregistration.k8s.io/v1, match conditions of 1.30. The expressions use `has` only, which all know.
"""

import base64
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from moorage.attach import formats
from moorage.attach.formats import Raw
from moorage.attach.policies.documents import API_VERSION, named_expressions, one_line, text_list
from moorage.attach.policies.mirror import NODE_CONDITIONS, NODE_RULES, STATE_KEYS
from moorage.attach.policies.pods import NOT_A_CONTROLLERS_REPLICA_SET, POD_RULES, template_of
from moorage.attach.tolerations import PLAIN_OPERATORS
from moorage.attached import names
from moorage.model.well_known.labels import NAMESPACE_NAME

_KIND: Final = "MutatingWebhookConfiguration"
_HTTPS_PORT: Final = 443
_TIMEOUT_SECONDS: Final = 5
_KUBE_SYSTEM: Final = "kube-system"
#: The webhook for writes that add taints; the other one has the name of its configuration.
ADDED_TAINTS: Final = "taints.mirror.attach.moorage.dev"


class WebhookPlace(NamedTuple):
    """Where the API server finds the webhook: a Service, or a URL without a path. `authorities` are PEM."""

    authorities: bytes = b""
    namespace: str = names.NAMESPACE
    service: str = names.WEBHOOK
    port: int = _HTTPS_PORT
    url: str = ""

    def client(self, path: str) -> Raw:
        """Return the clientConfig for a path of the webhook."""
        bundle = {"caBundle": base64.b64encode(self.authorities).decode()} if self.authorities else {}
        if self.url:
            return {"url": f"{self.url.rstrip('/')}{path}", **bundle}
        service = {"namespace": self.namespace, "name": self.service, "path": path, "port": self.port}
        return {"service": service, **bundle}


def webhook_configurations(place: WebhookPlace, native: Collection[str] = ()) -> list[Raw]:
    """Return what has to be applied for the webhook to be called, the mirror first."""
    return [mirroring_configuration(place), lowering_configuration(place, native)]


# -- lowering ----------------------------------------------------------------------------------------------------------


def lowering_configuration(place: WebhookPlace, native: Collection[str] = ()) -> Raw:
    """Return the configuration that has pods lowered. `native` are operators that the cluster knows itself."""
    conditions = {
        **NOT_A_CONTROLLERS_REPLICA_SET,
        "new-or-changed": _changed(),
        "extended-operators-or-lowered-before": _extended(native),
    }
    webhook = _webhook(names.LOWERING, place.client(names.LOWER_PATH), POD_RULES, "Ignore", conditions)
    exempt = _not_in(names.EXEMPT_LABEL, formats.TRUE)
    webhook["namespaceSelector"] = {"matchExpressions": [_not_in(NAMESPACE_NAME, _KUBE_SYSTEM), exempt]}
    webhook["objectSelector"] = {"matchExpressions": [exempt]}
    return _configuration(names.LOWERING, webhook)


_NEW, _OLD = template_of("object"), template_of("oldObject")


def _changed() -> str:
    """Whether a pod's spec, or a template, is new. What is stored is not touched when something else changes."""
    return one_line(f"""
        request.operation == 'CREATE' || (request.kind.kind == 'Pod' ? object.spec != oldObject.spec :
          ({_NEW}) != ({_OLD}))
    """)


def _extended(native: Collection[str]) -> str:
    plain = text_list((*PLAIN_OPERATORS, *sorted(native)))
    required = "t.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "t.spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    version = "has({0}.matchExpressions) && {0}.matchExpressions.exists(e, e.operator.startsWith('Semver'))"
    return one_line(f"""
        [{_NEW}].exists(t,
          (has(t.spec.tolerations) && t.spec.tolerations.exists(x, has(x.operator) && !(x.operator in {plain}))) ||
          (has(t.spec.affinity) && has(t.spec.affinity.nodeAffinity) && (
            (has({required}) && has({required}.nodeSelectorTerms) &&
              {required}.nodeSelectorTerms.exists(n, {version.format("n")})) ||
            (has({preferred}) && {preferred}.exists(p, has(p.preference) && {version.format("p.preference")}))))) ||
        (request.operation == 'UPDATE' && request.kind.kind != 'Pod' && [{_NEW}, {_OLD}].exists(t,
          has(t.metadata) && has(t.metadata.annotations) &&
          t.metadata.annotations.exists(a, a.startsWith('{formats.ANNOTATION_DOMAIN}/'))))
    """)


# -- mirroring ---------------------------------------------------------------------------------------------------------


def mirroring_configuration(place: WebhookPlace) -> Raw:
    """Return the configuration that has nodes mirrored, by two webhooks that fail in different ways."""
    client = place.client(names.MIRROR_PATH)
    adds = _adds_a_taint()
    closed = _webhook(ADDED_TAINTS, client, NODE_RULES[:1], "Fail", {"adds-a-taint": adds})
    conditions = {**NODE_CONDITIONS, "adds-no-taint": f"!({adds})"}
    opened = _webhook(names.MIRRORING, client, NODE_RULES, "Ignore", conditions)
    return _configuration(names.MIRRORING, closed, opened)


def _adds_a_taint() -> str:
    """Whether a node that exists gets a taint, or another value, besides those that its state brings."""
    return one_line(f"""
        request.operation == 'UPDATE' && (!has(request.subResource) || request.subResource == '') &&
        has(object.spec) && has(object.spec.taints) && object.spec.taints.exists(t, !(t.key in {STATE_KEYS}) &&
          !(has(oldObject.spec) && has(oldObject.spec.taints) && oldObject.spec.taints.exists(o,
            o.key == t.key && o.effect == t.effect &&
            (has(o.value) ? o.value : '') == (has(t.value) ? t.value : ''))))
    """)


# -- both --------------------------------------------------------------------------------------------------------------


def _webhook(name: str, client: Raw, rules: Collection[Raw], on_failure: str, conditions: Mapping[str, str]) -> Raw:
    return {
        "name": name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": client,
        "rules": list(rules),
        "matchPolicy": "Equivalent",
        "matchConditions": named_expressions(conditions),
        "failurePolicy": on_failure,
        "reinvocationPolicy": "IfNeeded",
        "sideEffects": "None",
        "timeoutSeconds": _TIMEOUT_SECONDS,
    }


def _configuration(name: str, *webhooks: Raw) -> Raw:
    return {"apiVersion": API_VERSION, "kind": _KIND, "metadata": {"name": name}, "webhooks": list(webhooks)}


def _not_in(label: str, value: str) -> Raw:
    return {"key": label, "operator": "NotIn", "values": [value]}
