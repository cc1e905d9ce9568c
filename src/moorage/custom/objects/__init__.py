"""Custom objects by schema: pruning, defaulting, embedded metadata, validation with ratcheting. Pure functions."""
