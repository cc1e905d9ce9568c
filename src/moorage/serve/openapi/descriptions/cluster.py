"""Texts about nodes, namespaces and what else a cluster has.

In: nothing. Out: tables that `descriptions` reads.
"""

from typing import Final

TYPES: Final[dict[str, str]] = {
    "Binding": "Puts a pod on a node.",
    "ConfigMap": "Settings that pods can read.",
    "Event": "Something that happened to an object.",
    "Eviction": "Asks a pod to leave its node, as far as disruption budgets allow.",
    "Lease": "Who holds a role, and until when. Nodes renew theirs as a sign of life.",
    "LeaseSpec": "The holder, and when it last renewed its claim.",
    "Namespace": "A space of names that objects live in.",
    "Node": "A machine that pods run on.",
    "NodeCondition": "One aspect of a node's state, and since when it holds.",
    "NodeSpec": "What is wanted of a node: its taints, and whether it takes new pods.",
    "NodeStatus": "What a node has to offer, and how it is.",
    "NodeSystemInfo": "The node's versions of everything.",
    "Secret": "Settings that pods can read and others should not.",
    "Service": "One address for a changing set of pods.",
    "ServiceAccount": "Who a pod is when it talks to the API.",
    "ServicePort": "A port of a service, and where it leads.",
    "ServiceSpec": "Which pods a service leads to, and on which ports.",
}

FIELDS: Final[dict[str, dict[str, str]]] = {
    "NodeSpec": {
        "podCIDR": "The addresses of the node's pods.",
        "podCIDRs": "The addresses of the node's pods, one range for each family.",
        "providerID": "What the provider of the machine calls it.",
        "taints": "Marks that keep pods away which do not tolerate them. Values may be texts, whole numbers or "
        "versions, for tolerations to compare with.",
        "unschedulable": "Whether new pods stay away, as after `kubectl cordon`.",
    },
    "NodeStatus": {
        "addresses": "How the node can be reached.",
        "allocatable": "What pods can have of each resource. The scheduler goes by this.",
        "capacity": "What the node has of each resource.",
        "conditions": "Whether the node is ready, and what it is short of.",
        "images": "Images that are already there.",
        "nodeInfo": "The node's versions of everything.",
        "volumesAttached": "Volumes that are attached to the node.",
        "volumesInUse": "Volumes that are attached and mounted.",
    },
    "ConfigMap": {
        "binaryData": "Settings that are bytes, in base64.",
        "data": "Settings that are text.",
        "immutable": "Whether the settings can no longer change.",
    },
    "Secret": {
        "data": "Settings, in base64.",
        "immutable": "Whether the settings can no longer change.",
        "stringData": "Settings as plain text, for writing only.",
        "type": "What kind of secret it is.",
    },
    "LeaseSpec": {
        "acquireTime": "Since when the holder has been the holder.",
        "holderIdentity": "Who holds the lease.",
        "leaseDurationSeconds": "For how long a renewal counts.",
        "leaseTransitions": "How often the holder has changed.",
        "renewTime": "When the holder last renewed the lease.",
    },
    "Event": {
        "count": "How often it happened.",
        "firstTimestamp": "When it first happened.",
        "involvedObject": "The object that it happened to.",
        "lastTimestamp": "When it last happened.",
        "message": "What happened, for people.",
        "note": "What happened, for people.",
        "reason": "What happened, for programs.",
        "regarding": "The object that it happened to.",
        "source": "Who says so.",
        "type": "Normal or Warning.",
    },
    "Binding": {"target": "The node that the pod is put on."},
    "ServiceSpec": {
        "clusterIP": "The address of the service. None makes it a service without one.",
        "ports": "The ports of the service.",
        "selector": "The labels of the pods that the service leads to.",
        "type": "ClusterIP (the default), NodePort, LoadBalancer or ExternalName.",
    },
}
