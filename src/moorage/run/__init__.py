"""Simulated kubelets: nodes and pods without containers. Kubernetes: the kubelet, kubemark's hollow nodes."""
