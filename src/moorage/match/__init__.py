"""Does A accept B? Pure matchers, compiled once from what the user wrote, which then cannot fail."""
