"""Area and clock on ECP5 and in standard cells: reports, and comparison with a baseline."""
