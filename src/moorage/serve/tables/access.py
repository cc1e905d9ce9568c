"""The tables of roles, bindings and requests for certificates.

Kubernetes: the default table convertor, printRoleBinding and printClusterRoleBinding.
"""

from moorage.serve.tables.columns import AGE, NAME, Cell, Column, Row, Tables, field, human_duration, part, table, wide

_RBAC = "rbac.authorization.k8s.io/v1"
_NAME_AND_CREATION = table(
    NAME, Column("Created At", "When the object was created.", field("metadata.creationTimestamp"), type="date")
)


def _role(row: Row) -> str:
    reference = part(row.raw, "roleRef")
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


def _subjects(kind: str) -> Cell:
    def cell(row: Row) -> str:
        found = [subject for subject in row.raw.get("subjects") or () if subject.get("kind") == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{subject.get('namespace', '')}/{subject.get('name', '')}" for subject in found)
        return ", ".join(subject.get("name", "") for subject in found)

    return cell


_BINDING = table(
    NAME,
    Column("Role", "The role that is granted.", _role),
    AGE,
    wide("Users", "The users who get it.", _subjects("User")),
    wide("Groups", "The groups whose users get it.", _subjects("Group")),
    wide("ServiceAccounts", "The service accounts that get it.", _subjects("ServiceAccount")),
)


def _requested_duration(row: Row) -> str:
    seconds = row.spec.get("expirationSeconds")
    return "<none>" if seconds is None else human_duration(seconds)


def _condition(row: Row) -> str:
    """Return Denied, Approved or Pending, and whether it has failed or was issued."""
    types = {condition.get("type") for condition in row.status.get("conditions") or ()}
    shown = ["Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"]
    shown += ["Failed"] * ("Failed" in types) + ["Issued"] * bool(row.status.get("certificate"))
    return ",".join(shown)


TABLES: Tables = {
    ("certificates.k8s.io/v1", "CertificateSigningRequest"): table(
        NAME,
        AGE,
        Column("SignerName", "Which signer is asked.", lambda row: row.spec.get("signerName") or "<none>"),
        Column("Requestor", "The user that asks.", lambda row: row.spec.get("username", "")),
        Column("RequestedDuration", "How long the certificate is to be valid.", _requested_duration),
        Column("Condition", "Whether it was approved and issued.", _condition),
    ),
    (_RBAC, "Role"): _NAME_AND_CREATION,
    (_RBAC, "ClusterRole"): _NAME_AND_CREATION,
    (_RBAC, "RoleBinding"): _BINDING,
    (_RBAC, "ClusterRoleBinding"): _BINDING,
}
