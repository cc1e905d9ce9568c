"""Keep clusters: where each is, what it was told, whether it runs; stop and delete them."""
