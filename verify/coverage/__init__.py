"""Coverage: what the stimulus shows of the units at their ports, and reaches of their Verilog."""
