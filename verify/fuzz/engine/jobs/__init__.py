"""Random jobs of the engine, their memory, and their results as the golden engine says."""
