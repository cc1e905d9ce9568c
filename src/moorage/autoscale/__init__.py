"""Run node autoscalers as controllers: Karpenter and Cluster Autoscaler, in a cluster and in a plan's virtual time.

They decide with the scheduler's own plugins, on nodes that pools could start. `snapshot` holds the cluster as columns
in which pods are moved as a trial, `node_kinds` the kinds of node that pools can start. `controller` has what both
autoscalers do alike: nodes that are on their way, nodes that leave. `karpenter/` and `cluster_autoscaler/` decide.
"""
