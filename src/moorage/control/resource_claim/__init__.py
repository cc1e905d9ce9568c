"""Create ResourceClaims from templates, release them when their pods are done, delete them."""
