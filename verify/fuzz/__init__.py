"""Random jobs by the million, compared with the golden model."""
