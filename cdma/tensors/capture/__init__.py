"""Activations recorded while a network trains."""
