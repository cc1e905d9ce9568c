"""Authorize users: decisions, impersonation, reviews, what they may write, and the roles of every cluster."""
