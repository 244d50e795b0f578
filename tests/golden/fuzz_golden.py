"""Coverage-guided fuzzing of the golden decoders (atheris), held to the reference.

    make fuzz-golden FUZZ_SECONDS=600
    python tests/golden/fuzz_golden.py build/fuzz-golden 600        for 600 seconds
    python tests/golden/fuzz_golden.py build/fuzz-golden FILE       this input again
    python tests/golden/fuzz_golden.py build/fuzz-golden -runs=999  one round, libFuzzer's options

Inputs that reach new code are kept in the folder ``corpus`` of the one that is named, which starts
as what the golden encoder writes; what fails is kept beside it. The status is 0 if nothing failed.

It runs in rounds, each a new process: atheris 3.0 keeps the result of every comparison of arrays in
what it instruments, some kilobytes an input.
"""

import io
import re
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import atheris
import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "helpers"))  # of the reference

with atheris.instrument_imports(include=["cdma.golden"]):
    import agreement
    import reference

    from cdma.golden import Format, compress, container, write_container
    from cdma.golden.zvc import codec, walk

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
ROUND_SECONDS = 60


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


def fuzz(folder: Path, options: list[str]) -> None:
    """One round; ends the process."""
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    write_corpus(corpus)
    defaults = [f"-max_len={LENGTH}", "-timeout=10", "-rss_limit_mb=1024", "-print_final_stats=1"]
    where = [] if any(not option.startswith("-") for option in options) else [str(corpus)]
    given = [*defaults, f"-artifact_prefix={folder}/", *options, *where]
    atheris.Setup([sys.argv[0], *given], check)
    atheris.Fuzz()


def fuzz_in_rounds(folder: Path, seconds: int) -> int:
    """Rounds until the time is up or one fails; gives its exit status."""
    inputs, end = 0, time.monotonic() + seconds
    while (left := round(end - time.monotonic())) > 0:
        options = ["-verbosity=0", f"-max_total_time={min(left, ROUND_SECONDS)}"]
        command = [sys.executable, __file__, str(folder), *options]
        run = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace")
        if run.returncode:
            print(run.stderr, file=sys.stderr)
            return run.returncode
        inputs += int(re.search(r"number_of_executed_units: (\d+)", run.stderr)[1])
        kept = len(list((folder / "corpus").iterdir()))
        print(f"{inputs:,} inputs, no failure, {kept} kept for the code they reach", flush=True)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    if sys.argv[2].isdigit():
        sys.exit(fuzz_in_rounds(Path(sys.argv[1]), int(sys.argv[2])))
    fuzz(Path(sys.argv[1]), sys.argv[2:])
