"""Hostile and heavy loads against a real `moorage up`, while another process asks whether it still answers."""
