"""The compressing DMA engine: register table, front end, data path and top."""

from cdma.engine_config import EngineConfig

__all__ = ["EngineConfig"]
