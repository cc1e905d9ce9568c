"""Evaluations of expensive expressions: budgets, and answers that may have to be waited for."""
