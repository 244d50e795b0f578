"""The whole engine, at its AXI ports."""
