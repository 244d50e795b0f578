"""An engine in software: registers, rings and memories, with the golden engine behind them."""

from cdma.driver.software.device import SoftwareDevice

__all__ = ["SoftwareDevice"]
