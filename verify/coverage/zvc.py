"""Coverage points of the zero-value codec: masks, their places, and where a stream is wrong."""

import itertools

import numpy as np

from cdma.golden import ErrorCode
from cdma.hdl.zvc.config import Config
from cdma.sim import stimulus
from cdma.verify.coverage.points import Point, common_points, last_part

DENSITIES = ("empty", "mixed", "full")

#: Place where a truncated stream ends, in the block that the status reports.
CUTS = ("before the mask", "in the mask", "behind the mask", "behind a word", "in a word")
PLACES = ("only block", "first block", "inside", "last block")

#: Number of beats after the end of a stream that is too long.
SURPLUS = ("no beat", "a beat", "beats")

#: Length of a stream with a mask bit past the end, compared with the words that the mask announces.
MARKED = ("too short", "as announced", "too long")


def points(unit: str, config: Config) -> list[Point]:
    """Points of a unit, without observations."""
    lane, words = range(config.lanes), range(1, config.lanes + 1)
    codes = [code.name for code in config.error_codes]
    found = [
        *common_points(unit, config, codes),
        Point("lane of a beat's first word x words", list(itertools.product(lane, words))),
        Point("lane of the mask x block", list(itertools.product(lane, DENSITIES))),
        Point("block x next block", list(itertools.product(DENSITIES, DENSITIES))),
        Point("words of a stream's last beat", list(range(config.lanes + 1))),
    ]
    if unit == "decompressor":
        found += [
            Point("truncated x block", _cuts(config)),
            Point("trailing x whole words", _surplus(config)),
            Point("trailing behind no words", [True]),
            Point("mask bit past the end x stream", _marked(config)),
        ]
    return found


def density(ones: int, words: int) -> str:
    """Class of a block by its number of non-zero words."""
    return "empty" if not ones else "full" if ones == words else "mixed"


def _masks(content, words, config):
    """Yield the start of each block in the stream and its mask bits, up to an incomplete mask."""
    fmt, at = config.format, 0
    for _ in range(-(-words // fmt.block_words)):
        mask = content[at : at + fmt.mask_bytes]
        if len(mask) < fmt.mask_bytes:
            return
        bits = np.unpackbits(mask, bitorder="little")
        yield at, bits
        at += fmt.mask_bytes + fmt.word_bytes * int(bits.sum())


def observe_packet(coverage, content, words):
    """Observe blocks and beats of a stream without an error; see
    :class:`cdma.verify.coverage.codecs.Codec`."""
    config = coverage.config
    lanes, fmt = config.lanes, config.format
    left, before = words, None
    for start, bits in _masks(content, words, config):
        count = min(left, fmt.block_words)
        left -= count
        at = start // fmt.word_bytes
        ones = np.zeros(-(-count // lanes) * lanes, np.uint8)
        ones[:count] = bits[:count]
        sums = ones.reshape(-1, lanes).sum(axis=1, dtype=int)
        firsts = (at + fmt.mask_words + np.cumsum(sums) - sums) % lanes
        kind = density(int(sums.sum()), count)
        coverage.hit("words of a beat's mask", sums.tolist())
        pairs = zip(firsts.tolist(), sums.tolist(), strict=True)
        coverage.hit("lane of a beat's first word x words", [pair for pair in pairs if pair[1]])
        coverage.hit("lane of the mask x block", [(at % lanes, kind)])
        if before:
            coverage.hit("block x next block", [(before, kind)])
        before = kind
    last = last_part(len(content), config.beat_bytes) // fmt.word_bytes
    coverage.hit("words of a stream's last beat", [last])


def observe_error(coverage, content, words, code, offset):
    """Observe a stream with an error; see :class:`cdma.verify.coverage.codecs.Codec`."""
    config = coverage.config
    fmt = config.format
    rest = len(content) - offset
    if code == ErrorCode.TRAILING:
        beats = [-(-size // config.beat_bytes) for size in (len(content), max(offset, 1))]
        kind = SURPLUS[min(beats[0] - beats[1], 2)]
        coverage.hit("trailing x whole words", [(kind, rest % fmt.word_bytes == 0)])
        if words == 0:
            coverage.hit("trailing behind no words", [True])
        return
    masks = dict(_masks(content, words, config))
    index, blocks = sum(start < offset for start in masks), -(-words // fmt.block_words)
    if code == ErrorCode.TRUNCATED:
        payload = rest - fmt.mask_bytes
        if payload < 0:
            cut = CUTS[0] if rest == 0 else CUTS[1]
        else:
            cut = CUTS[4] if payload % fmt.word_bytes else CUTS[3] if payload else CUTS[2]
        place = PLACES[1] if index == 0 else PLACES[3] if index == blocks - 1 else PLACES[2]
        coverage.hit("truncated x block", [(cut, PLACES[0] if blocks == 1 else place)])
        return
    bits = masks[offset]
    past = np.flatnonzero(bits)[-1]
    announced = fmt.mask_bytes + fmt.word_bytes * int(bits.sum())
    kind = MARKED[int(rest >= announced) + int(rest > announced)]
    coverage.hit("mask bit past the end x stream", [(int(past) // config.lanes, kind)])


def packet(config: Config) -> np.ndarray:
    """Words that cover all placements: empty, mixed and full blocks that begin in each lane of the
    stream, and beats with each number of words from each lane."""
    fmt = config.format
    lanes = config.lanes
    wanted = [(lane, ones, fmt.mask_words) for lane in range(lanes) for ones in range(1, lanes + 1)]
    wanted += [(lane, ones, 0) for lane in range(lanes) for ones in (0, 1, fmt.block_words)]
    blocks, at = [], 0
    for lane, ones, behind in wanted:
        # Number of words in a filler block, so that the next beat begins in its lane.
        filling = (lane - behind - fmt.mask_words - at) % lanes
        for count in (filling, ones):
            block = np.zeros(fmt.block_words, fmt.dtype)
            block[:count] = np.arange(1, count + 1) % 251 + 1
            blocks.append(block)
            at += fmt.mask_words + count
    return np.concatenate(blocks)


def streams(config: Config, rng: np.random.Generator) -> list[tuple[bytes, int]]:
    """Streams of a block and a partial block, with a bit past the end in each beat of the mask.

    Each variant exists with no word, one word and two words for the bit.
    """
    fmt = config.format
    packets = []
    for end in range(1, fmt.block_words, max(config.lanes // 2, 1)):
        count = fmt.block_words + end
        words = stimulus.random_words(count, 0.5, fmt, rng)
        ((stream, _),) = stimulus.streams([words], config)
        last = fmt.stream_bytes(fmt.block_words, np.count_nonzero(words[: fmt.block_words]))
        bit = int(rng.integers(end, min(end + config.lanes, fmt.block_words)))
        spoiled = bytearray(stream)
        spoiled[last + bit // 8] |= 1 << bit % 8
        packets += [(bytes(spoiled) + rng.bytes(more * fmt.word_bytes), count) for more in range(3)]
    return packets


def _cuts(config):
    cuts = CUTS
    if config.format.mask_bytes == 1:
        cuts = tuple(cut for cut in cuts if cut != "in the mask")
    if config.format.word_bytes == 1:
        cuts = tuple(cut for cut in cuts if cut != "in a word")
    return list(itertools.product(cuts, PLACES))


def _surplus(config):
    return list(itertools.product(SURPLUS, (True, False)[: config.format.word_bytes]))


def _marked(config):
    return list(itertools.product(range(config.block_beats), MARKED))
