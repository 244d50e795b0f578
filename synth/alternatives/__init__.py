"""Alternatives to parts of the units, as designs for the synthesis flow."""
