"""What the model answers: what limits each tensor, a trace, a sweep, advice on an engine."""
