"""A ring of descriptors: fetch, check, start, finish, state."""
