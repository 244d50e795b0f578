"""The algorithms that are compared."""
