"""Front end of the engine: registers, rings, completions, interrupts and counters."""
