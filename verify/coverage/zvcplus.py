"""Coverage points of ZVC+: each choice of the encoder, places of controls and payloads, errors."""

import itertools
from collections.abc import Iterator

import numpy as np

from cdma.golden import zvcplus as golden
from cdma.golden.codecs import codec_of
from cdma.golden.zvcplus import masks
from cdma.golden.zvcplus.bits import BitReader
from cdma.golden.zvcplus.codec import decode
from cdma.golden.zvcplus.parse import Controls, read_controls
from cdma.golden.zvcplus.plan import ALL_ZERO, AS_IS, DIFFERENCES, RAW, RAW_MASK
from cdma.golden.zvcplus.walk import PADDING, walk
from cdma.hdl.zvcplus.config import Config
from cdma.sim import damage
from cdma.sim.stimulus import random_words
from cdma.verify.coverage.points import (
    Coverage,
    Point,
    common_points,
    last_part,
    length_class,
    length_classes,
)
from cdma.zvcplus import ErrorCode

#: How a block is coded, in the order of :mod:`cdma.golden.zvcplus.plan`.
KINDS = ("all zero", "mask as differences", "mask as it is", "mask raw", "dense", "raw")
#: Kinds whose words have a range, and so can be wide.
CODED = KINDS[1:-1]
#: Words of a block that repeat the word before them.
REPEATS = ("no repeats", "some repeated", "all repeated")
#: What is behind the end of a stream that is too long.
SURPLUS = ("bits of its last byte", "bytes", "a beat", "beats")

#: Stalls of a decompressor that one of the first codec cannot have: the unit takes the next command
#: when it has all controls of a packet.
EARLY = tuple(("command pauses", phase) for phase in ("filling", "flowing", "draining"))

#: Back-pressure in which the command is late, and the end of the packet later.
STALLS = ({"source": "bernoulli:0.7", "command": "bernoulli:0.9"},)


def points(unit: str, config: Config) -> list[Point]:
    """Points of a unit, without observations."""
    bits, word = range(config.beat_bits), config.word
    stalls = EARLY if unit == "decompressor" else ()
    coded = itertools.product(KINDS[1:3], range(1, most_nibbles(config) + 1))
    found = [
        *common_points(unit, config, [code.name for code in config.error_codes], stalls),
        Point("block x next block", list(itertools.product(KINDS, KINDS))),
        Point("block x wide", list(itertools.product(CODED, (False, True)))),
        Point("mask x its nibbles", list(coded)),
        Point("bit of a row where a control begins", list(bits)),
        Point("bit of a row where a payload begins", list(bits)),
        Point("bytes of a stream's last beat", list(range(config.beat_bytes + 1))),
    ]
    if word.is_float:
        found.append(Point("base", [*range(-3, 4), "sent"]))
        # A difference of exponents has no more bits than an exponent.
        most = min(word.exponent, 6)
        is_sent = ["sent"] if word.exponent > 6 else []
        found.append(Point("bits of an exponent", [*range(most + 1), *is_sent]))
    else:
        widths = [(False, width) for width in range(8)] + [(True, width) for width in range(1, 9)]
        groups = [(size, group) for size in (32, 16) for group in range(128 // size)]
        found.append(Point("group x wide x bits", list(itertools.product(groups, widths))))
    if config.has_repeats:
        # All are repeated only in a run from the block's first word on: two differences at most.
        never = (KINDS[RAW_MASK], REPEATS[-1])
        repeats = [pair for pair in itertools.product(CODED, REPEATS) if pair != never]
        found.append(Point("block x repeats", repeats))
    if unit == "decompressor":
        kinds = [
            (code.name, kind) for code in config.error_codes for kind in length_classes(config)
        ]
        found += [
            Point("error x length", [pair for pair in kinds if not impossible(*pair)]),
            Point("trailing", list(SURPLUS)),
            Point(
                "byte of a row up to which a bad stream is right", list(range(config.beat_bytes))
            ),
        ]
    return found


def most_nibbles(config: Config) -> int:
    """Most nibbles of a mask that is sent as nibbles: with more, a raw mask takes fewer bits."""
    words = config.word.block_words
    return (words + 3 - words // 4) // 4


def impossible(error: str, kind: str) -> str:
    """Reason why a packet of a class of lengths cannot have an error; empty if it can."""
    if error == "NONE":
        return "no error"
    if kind == "empty" and error != "TRAILING":
        return "a packet without words has no block"
    if error == "MASK_PAST_END" and kind in ("a block", "blocks"):
        return "the last block is whole"
    if error == "TOO_LONG" and kind in ("part of a beat", "a beat"):
        return "a beat of words is not too long with any control"
    return ""


def observe_packet(coverage: Coverage, content: np.ndarray, words: int) -> None:
    """Observe blocks of a stream without an error; see
    :class:`cdma.verify.coverage.codecs.Codec`."""
    config = coverage.config
    coverage.hit("bytes of a stream's last beat", [last_part(len(content), config.beat_bytes)])
    if not words or decode(content, words, config.format)[1]:
        return  # of damaged streams the hardware takes some that no encoder writes
    fmt, total = config.format, 8 * len(content)
    data = np.concatenate([content, np.zeros(PADDING, np.uint8)])
    places, payloads = walk(data, total, fmt.blocks(words), fmt)
    controls = read_controls(BitReader(data, 0, total), places, fmt, 0)
    _observe_masks(coverage, controls, words)
    kinds = [KINDS[kind] for kind in controls.kind]
    coverage.hit("block x next block", itertools.pairwise(kinds))
    coverage.hit("bit of a row where a control begins", (places % config.beat_bits).tolist())
    has_payload = controls.kind != ALL_ZERO
    payload_bits = payloads[has_payload] % config.beat_bits
    coverage.hit("bit of a row where a payload begins", payload_bits.tolist())
    is_coded = has_payload & (controls.kind != RAW)
    _observe_fields(coverage, controls, np.flatnonzero(is_coded), kinds)
    if config.has_repeats:
        _observe_repeats(coverage, controls, np.flatnonzero(is_coded), kinds, data, payloads)


def _observe_masks(coverage, controls: Controls, words: int):
    """Observe the words of each beat, and the nibbles that are sent for a mask."""
    config = coverage.config
    size = config.word.block_words
    raw = (controls.kind == RAW)[:, np.newaxis]
    marked = masks.unpack(controls.lanes, size)
    inside = np.zeros(-(-words // config.lanes) * config.lanes, bool)
    inside[:words] = (marked | raw).reshape(-1)[:words]
    sums = inside.reshape(-1, config.lanes).sum(axis=1)
    coverage.hit("words of a beat's mask", sums.tolist())
    before = np.pad(marked, ((0, 0), (1, 0)))[:, :-1]
    for kind, coded in ((DIFFERENCES, marked ^ before), (AS_IS, marked)):
        nibbles = coded.reshape(-1, size // 4, 4).any(axis=2).sum(axis=1)
        here = nibbles[controls.kind == kind].tolist()
        coverage.hit("mask x its nibbles", [(KINDS[kind], count) for count in here])


def _observe_fields(coverage, controls: Controls, coded, kinds):
    """Observe the fields of the controls of blocks that are neither zero nor raw."""
    config = coverage.config
    wide = controls.wide[coded].tolist()
    coverage.hit("block x wide", [(kinds[at], bool(w)) for at, w in zip(coded, wide, strict=True)])
    if config.word.is_float:
        for name, values, least in (
            ("base", controls.d, 3),
            ("bits of an exponent", controls.k, 0),
        ):
            sent = [int(each) for each in values[coded]]
            coverage.hit(name, ["sent" if each == 7 else each - least for each in sent])
    else:
        for at, is_wide in zip(coded, wide, strict=True):
            is_half, widths = bool(controls.half[at]), controls.widths[at].tolist()
            size = 16 if is_half else 32
            groups = enumerate(widths if is_half else widths[::2])
            kept = [((size, group), (bool(is_wide), width)) for group, width in groups]
            coverage.hit("group x wide x bits", kept)


def _observe_repeats(coverage, controls: Controls, coded, kinds, data, payloads):
    """Observe how many words of each block are repeated, by the bits in front of its payload."""
    for at in coded:
        first, size = int(payloads[at]), int(controls.nonzeros[at])
        bits = int.from_bytes(data[first // 8 :][:20].tobytes(), "little") >> first % 8
        count = (bits & (1 << size) - 1).bit_count() if controls.used[at] else 0
        kind = REPEATS[int(count > 0) + int(count == size)]
        coverage.hit("block x repeats", [(kinds[at], kind)])


def observe_error(coverage, content: np.ndarray, words: int, code: int, offset: int) -> None:
    """Observe a stream with an error; see :class:`cdma.verify.coverage.codecs.Codec`."""
    config = coverage.config
    kind = length_class(words, config)
    coverage.hit("error x length", [(ErrorCode(code).name, kind)])
    place = offset % config.beat_bytes
    coverage.hit("byte of a row up to which a bad stream is right", [place])
    if code == ErrorCode.TRAILING:
        beats = [-(-size // config.beat_bytes) for size in (len(content), max(offset, 1))]
        more = min(beats[0] - beats[1], 2)
        coverage.hit("trailing", [SURPLUS[more + 1 if len(content) > offset else 0]])


def packet(config: Config) -> np.ndarray:
    """Words of blocks with each number of nibbles in a mask, as it is and as differences, and of
    each kind of block in front of each."""
    fmt, size = config.format, config.word.block_words
    blocks = []
    for nibbles in range(1, most_nibbles(config) + 1):
        # A word at the end of a nibble gives a difference in the next one too: sent as it is.
        first, final = np.zeros((2, size), fmt.dtype)
        first[: 4 * nibbles : 4] = final[3 : 4 * nibbles : 4] = 1
        blocks += [first, final]
    kinds = np.zeros((len(KINDS), size), fmt.dtype)
    kinds[1, 1:9] = 1  # a run
    kinds[2, 3::8] = 1
    kinds[3, ::2] = 1
    kinds[4] = 1
    kinds[5] = np.random.default_rng(size).integers(1, 1 << fmt.word_bits, size)
    blocks += [
        kinds[each] for pair in itertools.product(range(len(KINDS)), repeat=2) for each in pair
    ]
    # Words that all repeat: the mask of a run of four is sent as it is.
    blocks += [kinds[4], np.repeat(np.array([1, 0], fmt.dtype), [4, size - 4])]
    return np.concatenate(blocks)


def streams(config: Config, rng: np.random.Generator) -> Iterator[tuple[bytes, int]]:
    """Packets of less than a block whose control is reserved, or whose block is too long: a raw
    mask with all words, which are as long as they can be. Then streams with some beats behind
    their end, which still come in when the status is taken; and each error behind each."""
    fields, at = damage.longest_words(damage.WIDE_RAW_MASK, config)
    reserved = damage.extended(damage.RESERVED)
    found = []
    for count in range(config.lanes + 1, config.word.block_words):
        found.append((damage.begin_with(reserved, 5, rng, 200), count))
        too_long, bits = fields | (1 << count) - 1 << at, at + config.word.block_words
        found.append((damage.begin_with(too_long, bits, rng, 200), count))
    for beats in range(1, 33):
        found.append((rng.bytes(config.beat_bytes * beats), 0))
        found.append((bytes(1) + rng.bytes(config.beat_bytes * beats), config.lanes))
    yield from found
    words = random_words(2 * config.word.block_words + 3, 0.4, config.format, rng)
    stream = golden.compress(words, config.format).tobytes()
    found += [(stream, words.size), (stream[:-3], words.size)]
    found += damage.aimed(words, stream, config, rng)
    salvage = codec_of(config.format).salvage
    by_code = {salvage(*packet, config.format)[2]: packet for packet in found}
    for pair in itertools.product(by_code.values(), repeat=2):
        yield from pair
