"""What is held against the hardware: proofs, mutants, coverage, random packets."""
