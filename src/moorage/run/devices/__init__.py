"""Devices of simulated nodes: what drivers publish, and claims that kubelets prepare."""
