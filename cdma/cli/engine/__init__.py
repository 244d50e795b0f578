"""Options and runs of the engine."""
