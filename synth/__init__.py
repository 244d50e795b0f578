"""Measurements of the hardware: area, clock, energy, lint."""
