"""Know the policies and webhooks of the input, and what they look up in it: parameters, kinds, roles."""
