from cdma.engine_config import EngineConfig as EngineConfig
from cdma.hdl.axi.stream import AxiTop as AxiTop
from cdma.hdl.engine.engine import AxiEngine as AxiEngine
from cdma.hdl.zvc.compressor import Compressor as Compressor
from cdma.hdl.zvc.config import Config as Config
from cdma.hdl.zvc.decompressor import Decompressor as Decompressor
