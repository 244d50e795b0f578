"""From blocks to beats."""

from cdma.hdl.zvc.decompressor.beats.block_beats import BlockBeats

__all__ = ["BlockBeats"]
