"""A model of layer-by-layer training whose activations are offloaded to host memory."""
