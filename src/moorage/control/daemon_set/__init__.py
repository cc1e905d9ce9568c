"""DaemonSets: one pod on every node that fits.

In: DaemonSets, their pods and revisions, nodes. Out: pods made and deleted, revisions, status, events. Kubernetes:
pkg/controller/daemon. Differs: what is known of a node is kept until something about that node changes, so that one
pod's news costs no look at thousands of nodes. Start at `controller`.
"""
