"""Decide which requests a policy, a binding or a webhook is about, by rules and selectors."""
