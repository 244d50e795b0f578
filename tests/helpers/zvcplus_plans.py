"""Records of the ZVC+ compressor for the blocks of a packet, from the golden encoder's choices."""

import numpy as np

from cdma.golden.zvcplus.emit import emit_controls
from cdma.golden.zvcplus.plan import RAW, plan_blocks
from cdma.hdl.zvcplus.compressor.records import ALL_ZERO, AS_IS, DIFFERENCES, NOTHING, RAW_MASK


def number_of(bits) -> int:
    """Number of an array of bits, the first the lowest."""
    return int("".join(map(str, np.asarray(bits, int)[::-1])) or "0", 2)


def nibbles_of(mask: int, flags: int) -> int:
    """A bit per nibble that is not zero."""
    return sum((mask >> 4 * g & 15 != 0) << g for g in range(flags))


def blocks_of(words: np.ndarray, config) -> list[tuple[np.ndarray, dict]]:
    """Words of each block, filled up with zeros, and its extent; one block for no words."""
    size, lanes, found = config.word.block_words, config.lanes, []
    for first in range(0, max(len(words), 1), size):
        block = words[first : first + size]
        beats = max(1, -(-len(block) // lanes))
        extent = {
            "beats": beats - 1,
            "words": len(block) - lanes * (beats - 1),
            "last": first + size >= len(words),
            "is_empty": len(block) == 0,
        }
        found.append((np.append(block, np.zeros(size - len(block), words.dtype)), extent))
    return found


def all_stats_of(words: np.ndarray, config) -> list[dict]:
    """Record ``BlockStats`` of each block of a packet."""
    blocks = blocks_of(words, config)
    before = [None, *(block[-1] for block, _ in blocks)]
    return [
        stats_of(block, extent, config, last)
        for (block, extent), last in zip(blocks, before, strict=False)
    ]


def stats_of(block: np.ndarray, extent: dict, config, before=None) -> dict:
    """Record ``BlockStats`` of a block; ``before`` is the word in front of it, if there is one."""
    word = config.word
    mask = block != 0
    coded = mask ^ np.append(False, mask[:-1])
    known = {
        "masks": {
            "mask": number_of(mask),
            "as_is": nibbles_of(number_of(mask), word.flags),
            "differences": nibbles_of(number_of(coded), word.flags),
        },
        "extent": extent,
    }
    first = before is not None and block[0] == before
    repeated = mask & np.append(first, block[1:] == block[:-1])
    of_repeats = {
        "repeated": number_of(repeated),
        "nonzeros": np.count_nonzero(mask),
        "repeats": np.count_nonzero(repeated),
    }
    if not word.is_float:
        known |= groups_of(block, config)
        if not config.has_repeats:
            return known
        new = groups_of(np.where(repeated, 0, block), config)
        return known | {f"new_{name}": value for name, value in new.items()} | of_repeats
    exponents = block.astype(int) >> word.mantissa & (1 << word.exponent) - 1
    most = (1 << word.exponent) - 1
    known |= {
        "is_wide": int((block.astype(int) >> word.bits - 1).any()),
        "top": int(exponents[mask].max(initial=0)),
        "least": int(exponents[mask].min(initial=most)),
    }
    if not config.has_repeats:
        return known
    new = exponents[mask & ~repeated]
    return known | {
        "new_top": int(new.max(initial=0)),
        "new_least": int(new.min(initial=most)),
        **of_repeats,
    }


def counted(stats: dict, config) -> dict:
    """Record ``BlockStats`` of the plain coder, from that of the other."""
    masks, extent = stats["masks"], dict(stats["extent"])
    mask, size = masks["mask"], config.word.block_words
    differences, as_is = masks["differences"].bit_count(), masks["as_is"].bit_count()
    zeros = min(size - mask.bit_count(), config.most_zeros + 1)
    counts = {
        "mask": mask,
        "is_zero": int(not mask),
        "is_differences": int(differences <= as_is),
        "nibbles": min(differences, as_is),
        "zeros": (1 << zeros) - 1,
    }
    return {**stats, "masks": counts, "extent": extent}


def groups_of(block: np.ndarray, config) -> dict:
    """Widths of the groups of a block of int8, and the bits of its words."""
    known = {}
    for name, size in (("large", 32), ("small", 16)):
        groups = block.reshape(-1, size).astype(int)
        ones = np.count_nonzero(groups, axis=1)
        widths = [(max(int(most), 1) - 1).bit_length() for most in groups.max(axis=1)]
        known[f"{name}_bits"] = int(np.dot(ones, widths))
        known[f"{name}_raised"] = int(ones[np.array(widths) == 0].sum())
    return known | {"widths": widths}


def plans_of(words: np.ndarray, config) -> list[dict]:
    """Record ``BlockPlan`` of each block of a packet; fields without a meaning are zero."""
    word, blocks = config.word, blocks_of(words, config)
    golden = plan_blocks(words, 0, len(blocks), config.format, 0)
    found = []
    for index, (block, extent) in enumerate(blocks):
        kind = NOTHING if extent["is_empty"] else int(golden.kind[index])
        mask = block != 0
        coded = number_of(mask ^ np.append(False, mask[:-1]) if kind == DIFFERENCES else mask)
        nibbles = coded if kind in (DIFFERENCES, AS_IS, RAW_MASK) else 0
        is_raw, is_coded = kind == RAW, kind not in (NOTHING, ALL_ZERO, RAW)
        if word.is_float:
            coding = {
                "base": int(golden.base[index]) * is_coded,
                "k": 7 if is_raw else int(golden.k[index]) * is_coded,
                "is_wide": int(is_raw or golden.wide[index]),
            }
            fields = {"d": int(golden.d[index]) * is_coded}
        else:
            coding = {"is_raw": int(is_raw)}
            widths = golden.widths[index].tolist()
            is_half, is_wide = (int(each[index]) * is_coded for each in (golden.half, golden.wide))
            fields = {"groups": {"half": is_half, "is_wide": is_wide, "widths": widths}}
        found.append(
            {
                "extent": extent,
                "coding": coding,
                "kind": kind,
                **fields,
                "mask": number_of(mask),
                "nibbles": nibbles,
                "flags": -1 % (1 << word.flags)
                if kind == RAW_MASK
                else nibbles_of(nibbles, word.flags),
                "bits": 0 if kind == NOTHING else int(golden.control[index]),
            }
        )
        if config.has_repeats:
            repeats = golden.repeats
            count = int(repeats.count[index]) - 1 if word.is_float else int(golden.payload[index])
            count %= 1 << word.count_bits
            found[-1] |= {
                "repeated": number_of(repeats.repeated[index]),
                "has_repeats": int(repeats.used[index]),
                "count": count if repeats.used[index] else 0,
            }
    return found


def controls_of(words: np.ndarray, config) -> list[int]:
    """Bits of the control of each block."""
    number = len(blocks_of(words, config))
    plan = plan_blocks(words, 0, number, config.format, 0)
    out = np.zeros(8 * number + 8, np.uint32)
    emit_controls(out, 256 * np.arange(number), plan, config.format)
    rows = out[: 8 * number].reshape(number, 8).tobytes()
    return [int.from_bytes(rows[32 * k : 32 * k + 32], "little") for k in range(number)]
