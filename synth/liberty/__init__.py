"""Cell libraries in Liberty format."""

from cdma.synth.liberty.library import Liberty, read

__all__ = ["Liberty", "read"]
