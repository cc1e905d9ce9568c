"""Attach beside an unmodified Kubernetes, whose gates are the defaults of its release."""
