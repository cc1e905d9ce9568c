"""Keep clusters: their directories, options and processes; stop and delete them."""
