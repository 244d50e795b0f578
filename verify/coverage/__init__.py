"""Coverage: functional coverage at the ports of the units, and code coverage of their Verilog."""
