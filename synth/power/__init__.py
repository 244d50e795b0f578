"""Energy of a unit in standard cells while the unit processes a tensor."""
