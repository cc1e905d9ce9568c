"""Admit pods and claims that differ by their names only at the cost of one: templates and what they learn."""
