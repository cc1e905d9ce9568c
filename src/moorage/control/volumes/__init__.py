"""PersistentVolumes and the claims on them: bound to each other, made where a class says so, kept while in use.

In: volumes, claims, classes, nodes, pods. Out: bindings, provisioned volumes, released and deleted ones, finalizers.
Kubernetes: pkg/controller/volume.
"""
