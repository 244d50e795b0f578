"""CSWAP's tuner, on a codec that is measured here."""
