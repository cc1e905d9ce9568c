"""Bring in objects from elsewhere: manifests to apply at start, the state of another cluster, snapshots."""
