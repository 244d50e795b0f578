"""ZVC+ in hardware: sizes and networks that both units share."""
