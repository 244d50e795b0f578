"""What a block is made of, gathered from its beats in two steps."""
