"""Files of tensors, of streams and of containers, one made of another by the golden model."""
