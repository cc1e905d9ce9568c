"""Restrict what nodes write to what is their own: an admission plugin that decides by who makes a request."""
