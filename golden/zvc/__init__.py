"""Zero-value compression: the codec of arrays, its stages, and the walk from block to block."""
