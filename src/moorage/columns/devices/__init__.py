"""Devices as columns: what drivers publish, what is in use, and which nodes are alike in both."""
