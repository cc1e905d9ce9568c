"""What lowered pods were: told by their annotations where these are what they were lowered from."""
