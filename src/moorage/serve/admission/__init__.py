"""What admission looks up in the server, allocates and charges."""
