"""Reading the words of each output beat from the ring."""

from cdma.hdl.zvc.decompressor.reader.reader import PayloadReader

__all__ = ["PayloadReader"]
