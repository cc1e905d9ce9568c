"""Test and explain admission policies in files, on an API server without a wire that is made for each request."""
