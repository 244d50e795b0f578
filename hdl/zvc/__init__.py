"""Zero-value compression in hardware: sizes, records and networks that both units share."""
