"""StatefulSets: numbered pods, each with a name and volumes of its own.

In: StatefulSets, their pods, claims and revisions. Out: pods and claims made and deleted, in order or all at once;
revisions, status, events. Kubernetes: pkg/controller/statefulset. Start at `controller`.
"""
