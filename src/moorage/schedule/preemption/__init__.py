"""Preemption: victims, disruption budgets, nominated pods."""
