"""The model's results as a document with figures."""
