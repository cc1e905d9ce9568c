"""Give a new cluster a default StorageClass, so that claims without a class get simulated volumes.

It is created when a cluster starts for the first time, unless manifests bring a class: a user may change or delete it.
"""

from moorage.client.protocol import Client
from moorage.control.volumes.provisioning import SIMULATED
from moorage.model.kinds import KINDS
from moorage.model.well_known.annotations import DEFAULT_STORAGE_CLASS

NAME = "standard"


async def ensure_default_class(client: Client) -> None:
    """Create the default StorageClass in a cluster that has no StorageClass."""
    if (await client.list_all(KINDS.STORAGE_CLASS)).items:
        return
    annotations = {DEFAULT_STORAGE_CLASS: "true"}
    await client.create(
        KINDS.STORAGE_CLASS,
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": NAME, "annotations": annotations},
            "provisioner": SIMULATED,
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowVolumeExpansion": True,
        },
    )
