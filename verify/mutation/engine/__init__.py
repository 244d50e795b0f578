"""Mutation testing of the engine: its mutants, what they play, and which of them are no faults."""
