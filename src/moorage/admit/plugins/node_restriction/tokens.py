"""Check a node's request for a token: bound to a pod of its own, for an audience that the pod asks for.

Kubernetes: admitServiceAccount of the NodeRestriction plugin with ServiceAccountNodeAudienceRestriction.
Differs: of in-tree volumes that cannot be translated to CSI only disks of AWS are refused.
"""

from collections.abc import Iterator

from moorage.admit.attributes import Write, not_in_cache
from moorage.admit.plugins.node_restriction.pods import found_pod
from moorage.admit.requester import Requester
from moorage.admit.world import AdmissionWorld
from moorage.match.volumes.csi_migration import NotTranslatable, migrated_driver
from moorage.model.api_error import ApiError
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.pod import Pod
from moorage.model.types.request import TokenRequest
from moorage.model.types.storage import Volume

_VERB = "request-serviceaccounts-token-audience"
_OUTDATED = "does not match the UID in record. The object might have been deleted and then recreated"


def check_token_request(world: AdmissionWorld, node: str, requester: Requester, write: Write) -> None:
    """Raise ApiError if a node may not have this token: 404 if the pod does not exist, else 403."""
    try:
        request: TokenRequest = convert_view(write.new or {}, TokenRequest)
    except ConversionError:
        return  # which is refused for its types
    bound = request.spec.boundObjectRef
    if bound is None or (bound.apiVersion, bound.kind) != ("v1", "Pod") or not bound.name:
        raise write.refused("node requested token not bound to a pod")
    if not bound.uid:
        raise write.refused("node requested token with a pod binding without a uid")
    pod = found_pod(world, write.namespace, bound.name)
    if bound.uid != pod.metadata.uid:
        raise write.refused(f"the UID in the bound object reference ({bound.uid}) {_OUTDATED}")
    if pod.spec.nodeName != node:
        raise write.refused("node requested token bound to a pod scheduled on a different node")
    audiences = request.spec.audiences
    if len(audiences) > 1:
        raise write.refused("node may only request 0 or 1 audiences")
    _check_audience(world, requester, write, pod, audiences[0] if audiences else "")


def _check_audience(world: AdmissionWorld, requester: Requester, write: Write, pod: Pod, audience: str) -> None:
    errors: list[str] = []
    for volume in pod.spec.volumes:
        try:
            if audience in _audiences(world, pod, volume):
                return
        except (ApiError, NotTranslatable) as error:
            errors.append(error.message if isinstance(error, ApiError) else str(error))
    if errors:
        once = list(dict.fromkeys(errors))
        text = once[0] if len(once) == 1 else f"[{', '.join(once)}]"
        raise write.refused(f"error validating audience {go_quote(audience)}: {text}")
    permission = requester.may(_VERB, audience, write.namespace, write.name)
    if permission.allowed:
        return
    why = f"audience {go_quote(audience)} not found in pod spec volume"
    if permission.error:
        asking = f"error authorizing {requester.name} to request tokens for this audience"
        raise write.refused(f"{why}, {asking}: {permission.error}")
    raise write.refused(f"{why}, {requester.name} is not authorized to request tokens for this audience")


def _audiences(world: AdmissionWorld, pod: Pod, volume: Volume) -> Iterator[str]:
    """Yield the audiences of the tokens that a volume needs. Raises ApiError 404 for what cannot be looked up."""
    if volume.projected is not None:
        for source in volume.projected.sources:
            if source.serviceAccountToken is not None:
                yield source.serviceAccountToken.audience
    driver = _driver(world, pod, volume)
    if driver:
        registered = world.find(KINDS.CSI_DRIVER, "", driver)
        if registered is None:
            raise not_in_cache(KINDS.CSI_DRIVER, driver)
        yield from (token.audience for token in registered.spec.tokenRequests)


def _driver(world: AdmissionWorld, pod: Pod, volume: Volume) -> str:
    """Return the CSI driver that mounts a volume, or an empty text."""
    if volume.ephemeral is not None and volume.ephemeral.volumeClaimTemplate is not None:
        return _driver_of_claim(world, pod.metadata.namespace, f"{pod.metadata.name}-{volume.name}")
    if volume.persistentVolumeClaim is not None:
        return _driver_of_claim(world, pod.metadata.namespace, volume.persistentVolumeClaim.claimName)
    return volume.csi.driver if volume.csi is not None else migrated_driver(volume)


def _driver_of_claim(world: AdmissionWorld, namespace: str, name: str) -> str:
    claim = world.find(KINDS.PERSISTENT_VOLUME_CLAIM, namespace, name)
    if claim is None:
        raise not_in_cache(KINDS.PERSISTENT_VOLUME_CLAIM, name)
    volume = world.find(KINDS.PERSISTENT_VOLUME, "", claim.spec.volumeName)
    if volume is None:
        raise not_in_cache(KINDS.PERSISTENT_VOLUME, claim.spec.volumeName)
    driver: str = volume.spec.csi.driver if volume.spec.csi is not None else migrated_driver(volume.spec)
    return driver
