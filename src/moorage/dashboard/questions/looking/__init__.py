"""Answer what the panel of a pod and the page of a node ask."""
