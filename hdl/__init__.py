"""The hardware, in Amaranth, and the Verilog made of it."""
