"""The choice of a block's coding, in one step."""
