"""Admit the kinds that say how pods are reached: Services, Endpoints, Ingresses, NetworkPolicies, addresses."""
