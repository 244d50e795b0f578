"""Energy in standard cells while a real tensor passes through a unit."""
