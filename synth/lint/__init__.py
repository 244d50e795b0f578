"""Four tools that read the generated Verilog, and a reason for each warning that is waived."""
