"""What was considered for the units, as designs that the flow measures like any other."""
