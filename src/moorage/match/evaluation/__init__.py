"""Evaluate expensive expressions within budgets; some answers have to be waited for."""
