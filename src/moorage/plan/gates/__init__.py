"""Consequences of disabling a gate, for the audit of gates."""
