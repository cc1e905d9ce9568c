"""The audit of requests: what policies and webhooks note about them, and the log that a cluster may keep."""
