"""Admission of the kinds that extend the API."""
