"""What both coders have in common: their ports, and how a block is surveyed."""

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvc.beat import COUNT_BITS, Beat
from cdma.hdl.zvcplus.compressor.records import BitRow
from cdma.hdl.zvcplus.config import Config


class RowCoder(wiring.Component):
    """Turn packets of words into rows of their ZVC+ stream.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvc.beat.Beat`, packets of words; ``keep`` by whole words
    o : Out stream of :class:`~cdma.hdl.zvcplus.compressor.records.BitRow`
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(Beat(config))),
                "o": Out(stream.Signature(BitRow(config, COUNT_BITS))),
            }
        )

    def _surveyed(self, intake, survey) -> list:
        """Statements that give each beat that is taken to the survey."""
        return [
            survey.valid.eq(intake.accept),
            survey.words.eq(self.i.payload.words),
            survey.keep.eq(intake.keep),
            survey.index.eq(intake.index),
            survey.extent.eq(intake.extent),
            survey.end.eq(intake.end),
        ]
