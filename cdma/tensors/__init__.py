"""Tensors from files, and activations recorded while a network trains."""
