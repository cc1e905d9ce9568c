"""The table of CustomResourceDefinitions. Kubernetes: the default table of apiserver's registry/rest."""

from moorage.serve.tables.columns import NAME, Column, Tables, field, table

_CREATED = "When the server created the object."

TABLES: Tables = {
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): table(
        NAME, Column("Created At", _CREATED, field("metadata.creationTimestamp"), type="date")
    )
}
