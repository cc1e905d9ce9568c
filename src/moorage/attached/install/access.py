"""List the rights of webhook and controller, as tables, and the accounts that have them.

The controller reads no Secret but that of the webhook's certificates, and writes Leases in its namespace only.
Kubernetes: RBAC; the form of the tables is that of the roles of every cluster.
"""

from typing import Any

from moorage.attached import names
from moorage.attached.install.settings import Installation
from moorage.serve.access.bootstrap.policy import added_policy

Raw = dict[str, Any]

#: To learn which operators the cluster knows, from the feature gates in the API server's metrics.
_WEBHOOK = f"""
{names.WEBHOOK}
  get | /metrics
"""
_CONTROLLER = f"""
{names.CONTROLLER}
  read | core | namespaces nodes pods replicationcontrollers podtemplates
  read | apps | daemonsets deployments replicasets statefulsets
  read | batch | cronjobs jobs
  patch | core | nodes podtemplates replicationcontrollers
  patch | apps | daemonsets deployments replicasets statefulsets
  patch | batch | cronjobs
  patch delete | core | pods
  create | core | pods/eviction
  patch | core | pods/status
  report | core events.k8s.io | events
  read | admissionregistration.k8s.io | mutatingwebhookconfigurations
  get | /metrics
"""
_LEASE = f"""
{{namespace}}/{names.CONTROLLER}
  create get update | coordination.k8s.io | leases
"""
_CERTIFICATES = f"""
{names.CERTIFICATES}
  patch | admissionregistration.k8s.io | mutatingwebhookconfigurations | {names.LOWERING} {names.MIRRORING}
{{namespace}}/{names.CERTIFICATES}
  create | core | secrets
  get update | core | secrets | {names.CERTIFICATES}
"""


def accounts(installation: Installation) -> list[Raw]:
    """Return the service account of each component."""
    components = [names.CONTROLLER, *([names.WEBHOOK] if installation.has_webhook else [])]
    return [account(installation, each) for each in components]


def account(installation: Installation, component: str) -> Raw:
    metadata = {"name": component, "namespace": installation.namespace, "labels": installation.labels(component)}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, "automountServiceAccountToken": False}


def webhook_rights(installation: Installation) -> list[Raw]:
    return _rights(installation, names.WEBHOOK, _WEBHOOK)


def controller_rights(installation: Installation) -> list[Raw]:
    return _rights(installation, names.CONTROLLER, _CONTROLLER + _LEASE)


def certificate_rights(installation: Installation) -> list[Raw]:
    """Return what the controller may do besides if it makes the certificates."""
    return _rights(installation, names.CONTROLLER, _CERTIFICATES)


def _rights(installation: Installation, component: str, table: str) -> list[Raw]:
    roles = table.replace("{namespace}", installation.namespace)
    heads = [line for line in roles.splitlines() if line and not line.startswith(" ")]
    subject = f"  ServiceAccount {installation.namespace}/{component}"
    kinds = ["Role" if "/" in head else "ClusterRole" for head in heads]
    bindings = "".join(
        f"{head} = {kind} {head.rpartition('/')[2]}\n{subject}\n" for head, kind in zip(heads, kinds, strict=True)
    )
    documents = added_policy(roles, bindings)
    for document in documents:
        document["metadata"]["labels"] = installation.labels(component)
    return documents
