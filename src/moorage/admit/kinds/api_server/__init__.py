"""Admit the kinds that configure the API server: roles, certificates, admission, flow control, definitions."""
