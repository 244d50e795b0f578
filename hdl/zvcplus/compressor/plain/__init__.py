"""The coder of floats without repeats: shorter steps, and fewer registers."""
