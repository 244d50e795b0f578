"""Mutation testing: small faults in the units, and the checks that detect them."""
