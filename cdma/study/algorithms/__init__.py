"""The compared algorithms."""
