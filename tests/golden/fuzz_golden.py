"""Coverage-guided fuzzing of the golden decoders (atheris), held to the reference.

    make fuzz-golden FUZZ_SECONDS=600
    python tests/golden/fuzz_golden.py build/fuzz-golden -max_total_time=600

Inputs that reach new code are kept in the folder ``corpus`` of the one that is named, which starts
as what the golden encoder writes; what fails is kept beside it, and replayed by naming its file in
place of options. The options are libFuzzer's. The status is 0 when nothing failed.
"""

import io
import sys
from itertools import product
from pathlib import Path

import atheris
import numpy as np

with atheris.instrument_imports(include=["cdma.golden"]):
    import agreement
    import reference

    from cdma.golden import Format, codec, compress, container, walk, write_container

#: Bits of an input's first byte: what to take the others for, whether to make the CRCs match, and
#: whether all limits of batches are small.
CONTAINER, SEALED, SMALL = 1, 2, 4
FORMATS = [
    *(Format(8, 8), Format(8), Format(16), Format(16, 64)),
    *(Format(32), Format(32, 96), Format(64), Format(64, 128)),
]
#: Module, name, and value in small batches.
LIMITS = [
    (container, "_GROUP_WORDS", 300),
    (container, "_LOCKSTEP_CHUNKS", 2),
    (codec, "_BATCH_BYTES", 100),
    (walk, "_WINDOW_WORDS", 11),
]
USUAL = [getattr(module, name) for module, name, _ in LIMITS]
#: Bytes of an input at most: short ones run often, and small batches make much of them.
LENGTH = 2048


def check(data: bytes) -> None:
    """Run one input; raises when a decoder does not agree, or raises what it must not."""
    if len(data) < 4:
        return
    options, rest = data[0], data[1:]
    for (module, name, small), usual in zip(LIMITS, USUAL, strict=True):
        setattr(module, name, small if options & SMALL else usual)
    if options & CONTAINER:
        agreement.check_container(reference.seal(rest) if options & SEALED else rest)
    else:
        fmt = FORMATS[rest[0] % len(FORMATS)]
        count = int.from_bytes(rest[1:3], "little") % (8 * LENGTH)
        agreement.check_stream(fmt, rest[3:], count)


def write_corpus(folder: Path) -> None:
    """Small streams and containers of every format."""
    rng = np.random.default_rng(0)
    for number, (fmt, blocks, density) in enumerate(product(FORMATS, (0, 1, 5), (0, 0.5, 1))):
        words = rng.integers(1, 200, blocks * fmt.block_words + blocks).astype(fmt.dtype)
        words[rng.random(len(words)) >= density] = 0
        file = io.BytesIO()
        write_container(file, words.reshape(-1, 1), fmt, chunk_blocks=1 + number % 3)
        raw = bytes([FORMATS.index(fmt)]) + len(words).to_bytes(2, "little")
        raw += compress(words, fmt).tobytes()
        for small in (0, SMALL):
            for kind, data in [(CONTAINER | SEALED, file.getvalue()), (0, raw)]:
                if len(data) < LENGTH:
                    name = f"{number:03}-{kind | small}"
                    (folder / name).write_bytes(bytes([kind | small]) + data)


def main() -> None:
    """Fuzz until an option says stop."""
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder, *given = sys.argv[1:]
    corpus = Path(folder) / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    write_corpus(corpus)
    replays = any(not option.startswith("-") for option in given)
    defaults = [f"-max_len={LENGTH}", "-timeout=10", "-rss_limit_mb=1024", "-print_final_stats=1"]
    options = [*defaults, f"-artifact_prefix={folder}/", *given]
    atheris.Setup([sys.argv[0], *options, *([] if replays else [str(corpus)])], check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
