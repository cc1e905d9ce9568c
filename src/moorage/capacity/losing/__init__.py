"""Lose nodes on the simulation: these, or many times some that are drawn by chance."""
