"""Speed of the engine, cycle by cycle: what ``make bench-engine`` measures."""
