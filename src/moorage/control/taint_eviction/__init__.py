"""NoExecute taints → pods that have to leave, at once or when their time is up.

In: Nodes and Pods. Out: pods marked and deleted, events, metrics. `judge` says what a node's taints mean for a pod,
`timers` since when its time runs, `controller` what is to be done. Kubernetes: pkg/controller/tainteviction.
"""
