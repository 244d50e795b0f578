"""The AXI4 ports of the engine: what shares them, watches them and throttles them."""
