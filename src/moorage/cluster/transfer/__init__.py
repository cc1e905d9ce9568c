"""Move objects into and out of clusters: manifests, the state of another cluster, snapshots, migrations."""
