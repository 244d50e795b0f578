"""Compression study: results of each algorithm on activations, by layer, layout and training."""
