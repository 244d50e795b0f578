"""The choice of a block's coding."""
