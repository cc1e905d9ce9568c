"""The pods and claims of a StatefulSet as they are made.

In: a StatefulSet, a template, the name of its revision, an ordinal. Out: documents. Kubernetes: newStatefulSetPod,
initIdentity, updateStorage, getPersistentVolumeClaims.
"""

from moorage.client.protocol import Object
from moorage.control.framework.actions import Raw
from moorage.control.framework.pods_of import pod_from_template
from moorage.control.stateful_set.members import POD_INDEX_LABEL, POD_NAME_LABEL, REVISION_LABEL, pod_name


def numbered_pod(stateful_set: Object, template: Raw, revision: str, ordinal: int) -> Raw:
    pod = pod_from_template(stateful_set, template)
    name = pod_name(stateful_set, ordinal)
    metadata = pod["metadata"]
    labels = {**(metadata.get("labels") or {}), POD_NAME_LABEL: name, POD_INDEX_LABEL: str(ordinal)}
    pod["metadata"] = {**metadata, "name": name, "labels": {**labels, REVISION_LABEL: revision}}
    spec = {**pod["spec"], "hostname": name}
    service = stateful_set.view.spec.serviceName
    if service:
        spec["subdomain"] = service
    volumes = _volumes(stateful_set, spec.get("volumes") or [], ordinal)
    if volumes:
        spec["volumes"] = volumes
    return {**pod, "spec": spec}


def _volumes(stateful_set: Object, given: list[Raw], ordinal: int) -> list[Raw]:
    """One for each claim, and those of the template that do not have the same name."""
    names = claim_names(stateful_set, ordinal)
    made = [{"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in names.items()]
    return made + [volume for volume in given if volume.get("name") not in names]


def claim_names(stateful_set: Object, ordinal: int) -> dict[str, str]:
    """The names of a pod's claims, by those of their templates."""
    templates = stateful_set.view.spec.volumeClaimTemplates
    return {one.metadata.name: f"{one.metadata.name}-{stateful_set.name}-{ordinal}" for one in templates}


def claims_of(stateful_set: Object, ordinal: int) -> list[Raw]:
    spec = stateful_set.raw["spec"]
    selected = (spec.get("selector") or {}).get("matchLabels") or {}
    names = claim_names(stateful_set, ordinal)
    claims: list[Raw] = []
    for template in spec.get("volumeClaimTemplates") or ():
        given = template.get("metadata") or {}
        metadata: Raw = {
            **given,
            "name": names[given.get("name", "")],
            "namespace": stateful_set.namespace,
            "labels": {**(given.get("labels") or {}), **selected},
        }
        claim = {name: value for name, value in template.items() if name != "status"}
        claims.append({**claim, "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata})
    return claims
