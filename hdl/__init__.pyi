from cdma.hdl.zvc.compressor import Compressor as Compressor
from cdma.hdl.zvc.config import Config as Config
from cdma.hdl.zvc.decompressor import Decompressor as Decompressor
