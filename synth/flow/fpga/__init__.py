"""Figures of a unit on FPGAs beside ECP5."""
