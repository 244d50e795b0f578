"""A software engine: registers, rings and memories around the golden engine."""

from cdma.driver.software.device import SoftwareDevice

__all__ = ["SoftwareDevice"]
