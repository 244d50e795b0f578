"""Mutation testing: small faults in the units, and what finds them."""
