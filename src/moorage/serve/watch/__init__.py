"""Watch streams: changes after a revision as events."""
