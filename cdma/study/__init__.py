"""Compression study: what each algorithm makes of activations, by layer, layout and training."""
