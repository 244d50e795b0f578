"""Convert tensor files, streams and containers with the golden model."""
