"""Pictures of the model's answers, as SVG."""
