"""Checks of admission as users extend it: policies, bindings and webhooks."""
