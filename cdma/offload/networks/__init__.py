"""Networks as tables of layers, made from a short description of the graph."""
