"""Area and clock on ECP5 and in standard cells, as reports and against a baseline."""
