"""Error-bounded codecs on activations: bytes on disk, and the bound from a gradient's deviation."""
