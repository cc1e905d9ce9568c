"""Look up facts that rules and other commands share: served kinds, gates, device offers, possible taints."""
