"""AXI ports with the names that vendors' tools infer interfaces from."""
