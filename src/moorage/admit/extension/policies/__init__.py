"""Evaluate policies written in CEL: environments, compiled policies, match conditions, parameters, decisions."""
