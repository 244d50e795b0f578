"""Stimulus with wide numbers: addresses, sizes, rows, limits and windows of all bits.

Jobs of any size end soon: an access fails behind a few stripes, or software aborts. What ends with
success is compared with the golden engine.
"""

import numpy as np

from cdma.engine_codes import Op, Raw, State, Status
from cdma.engine_config import INDEX_BYTES
from cdma.errors import SimulationError
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.compare import offload_difference, prefetch_difference
from cdma.sim.engine.engine import DEVICE, HOST, Buffer
from cdma.sim.engine.model import OFFLOAD, PREFETCH
from cdma.verify.mutation.engine.land import OpenModel

#: Bytes around a border of addresses that a job may take.
_NEAR = 1 << 14


def places(model: OpenModel) -> list:
    """Offloads and prefetches anywhere: each power of two is a border of some part."""
    config, seen = model.config, []
    rng = np.random.default_rng(7)
    low, high = config.stripe_bytes.bit_length() - 1, config.address_bits
    powers = list(range(low, high))
    for number in range(len(powers)):
        words = _words(config, rng, 2.0 + rng.random())
        made = golden.offload(words, config, crc=True)
        taken = [(model.rings[0].descriptors.address, 4 * _NEAR)]
        lap = 1 + number % 2
        device, back = (
            max(0, (1 << powers[(number + shift) % len(powers)]) - lap * config.stripe_bytes)
            for shift in (0, 9)
        )
        host = _place(rng, config, taken, powers[(number + 5) % len(powers)], 64, number)
        index = _place(rng, config, taken, powers[(number + 11) % len(powers)], 8, number)
        copy = _place(rng, config, taken, powers[(number + 16) % len(powers)], 4, number)
        other = _place(rng, config, taken, powers[(number + 19) % len(powers)], 8, number)
        if number % 3 == 0:  # anywhere, tensors apart from each other
            device, back = (
                config.stripe_bytes * int(rng.integers(0, (1 << high - low) - 8)) for _ in range(2)
            )
        limit = config.bound(words.nbytes)
        fields = {"with_index": True, "crc": True, "word_bytes": config.word_bytes}
        fields |= {"row_bytes": words.nbytes, "cookie": int(rng.integers(1 << 63))}
        model.at(DEVICE, device, words.nbytes)[:] = words.view(np.uint8)
        out = Descriptor(Op.OFFLOAD, device=device, host=host, index=index, limit=limit, **fields)
        job = model.run(OFFLOAD, out, **_buffers(model, out, limit, made.index.size))
        _check(offload_difference(job, made, config))
        stream = made.stream.size
        model.at(HOST, copy, stream)[:] = made.stream
        model.at(HOST, other, made.index.size)[:] = made.index
        op = Op.PREFETCH if number % 4 else Op.VERIFY
        fetch = Descriptor(op, device=back, host=copy, index=other, limit=stream, **fields)
        done = model.run(PREFETCH, fetch, **_buffers(model, fetch, stream, made.index.size))
        expected = golden.salvage_stripes(made.stream, made.index, words.size, config, crc=True)
        _check(prefetch_difference(done, expected, config, is_verify=op is Op.VERIFY))
        seen += [str(job.completion), job.cycles, str(done.completion), done.cycles]
    return seen


def wheres(model: OpenModel) -> list:
    """Errors anywhere: what completions and ERROR have of the address of a failed access."""
    config, seen = model.config, []
    rng = np.random.default_rng(16)
    end, stripe = 1 << config.address_bits, config.stripe_bytes
    words = _words(config, rng, 2.6)
    made = golden.offload(words, config, crc=True)
    ops = {OFFLOAD: (Op.OFFLOAD, Op.COPY_OUT), PREFETCH: (Op.PREFETCH, Op.COPY_IN)}
    for number in range(32):
        ring, part = number % 2, ("tensor", "stream", "index")[number % 3]
        op = ops[ring][0 if part == "index" else number // 2 % 2]
        is_copy = op in (Op.COPY_OUT, Op.COPY_IN)
        stream = words.view(np.uint8) if is_copy else made.stream
        taken = [(model.rings[0].descriptors.address, 4 * _NEAR)]
        device = stripe * int(rng.integers(0, end // stripe - 4))
        host = _place(rng, config, taken, 0, 64 if ring == OFFLOAD else 4, 0)
        index = _place(rng, config, taken, 0, 8, 0)
        if ring == OFFLOAD:
            model.at(DEVICE, device, words.nbytes)[:] = words.view(np.uint8)
        else:
            model.at(HOST, host, stream.size)[:] = stream
            model.at(HOST, index, made.index.size)[:] = made.index
        sizes = {"tensor": words.nbytes, "stream": stream.size, "index": made.index.size}
        space, at = {"tensor": (DEVICE, device), "stream": (HOST, host), "index": (HOST, index)}[
            part
        ]
        at += int(rng.integers(sizes[part]))
        model.engine.fault(space, at, 1, response=2 + int(rng.integers(2)))
        job = Descriptor(
            op,
            device=device,
            host=host,
            index=0 if is_copy else index,
            row_bytes=words.nbytes,
            limit=config.bound(words.nbytes) if ring == OFFLOAD else stream.size,
            word_bytes=config.word_bytes,
            with_index=not is_copy,
            crc=not is_copy,
        )
        done = model.run(ring, job)
        model.engine.clear_faults()
        if done.completion.status not in (32, 33, 34, 35):
            raise SimulationError(f"{done.completion} of {job}, expected an error of the bus")
        seen += [str(done.completion), done.cycles]
    return seen


def rows(model: OpenModel) -> list:
    """Rows with each bit of the pitch, upwards and downwards, and several rows."""
    config, seen = model.config, []
    stripe, end = config.stripe_bytes, 1 << config.address_bits
    rng = np.random.default_rng(8)
    cases = []
    for bit in range(stripe.bit_length() - 1, config.address_bits):
        step = 1 << bit
        cases.append((2, step if bit % 2 else -step, 1))
    for _ in range(12):
        count = int(rng.integers(2, 9))
        step = stripe * int(rng.integers(0, (end // stripe - 8) // count))
        cases.append((count, -step if rng.integers(2) else step, int(rng.integers(1, 4))))
    for number, (count, pitch, stripes) in enumerate(cases):
        span = abs(pitch) * (count - 1)
        room = end - span - stripes * stripe
        first = stripe * int(rng.integers(0, room // stripe + 1)) + (span if pitch < 0 else 0)
        op = (Op.OFFLOAD, Op.MEASURE, Op.COPY_OUT)[number % 3]
        data = rng.integers(0, 3, stripes * config.stripe_words).astype(config.format.dtype)
        for row in range(count):
            model.at(DEVICE, first + row * pitch, data.nbytes)[:] = data.view(np.uint8)
        nbytes = count * data.nbytes
        limit = config.bound(nbytes)
        host = model.allocate(HOST, limit)
        entries = model.allocate(HOST, INDEX_BYTES * count * stripes)
        is_coded = op is not Op.COPY_OUT
        job = Descriptor(
            op,
            device=first,
            host=host.address,
            index=entries.address if is_coded else 0,
            rows=count,
            row_bytes=data.nbytes,
            pitch=pitch,
            limit=limit,
            word_bytes=config.word_bytes,
            with_index=is_coded,
            raw=Raw.AUTO if is_coded else Raw.NEVER,
        )
        done = model.run(OFFLOAD, job)
        seen += [str(done.completion), done.cycles, host.data.tobytes(), entries.data.tobytes()]
        if op is Op.OFFLOAD and not done.completion.status:
            size = done.completion.stream_bytes
            back = Descriptor(
                Op.PREFETCH,
                device=first,
                host=host.address,
                index=entries.address,
                rows=count,
                row_bytes=data.nbytes,
                pitch=pitch,
                limit=size,
                word_bytes=config.word_bytes,
                with_index=True,
            )
            for row in range(count):
                model.at(DEVICE, first + row * pitch, data.nbytes)[:] = 0xA5
            done = model.run(PREFETCH, back)
            for row in range(count):
                found = model.at(DEVICE, first + row * pitch, data.nbytes)
                if (found != data.view(np.uint8)).any():
                    raise SimulationError(f"row {row} of {back} differs")
            seen += [str(done.completion), done.cycles]
    return seen


def limits(model: OpenModel) -> list:
    """Each power of two as the limit of an offload, and more than the bytes of a prefetch; copies
    whose bytes do not fit."""
    config, seen = model.config, []
    rng = np.random.default_rng(9)
    words = _words(config, rng, 1.5)
    device = 5 * config.stripe_bytes
    model.at(DEVICE, device, words.nbytes)[:] = words.view(np.uint8)
    host = model.allocate(HOST, 0).address
    word = config.word_bytes
    for bit in range(word.bit_length() - 1, config.address_bits):
        limit = 1 << bit
        made = golden.offload(words, config, limit=limit)
        descriptor = Descriptor(
            Op.OFFLOAD,
            device=device,
            host=host if host + limit <= 1 << config.address_bits else 0,
            row_bytes=words.nbytes,
            limit=limit,
            word_bytes=word,
        )
        job = model.run(OFFLOAD, descriptor)
        seen += [str(job.completion), job.cycles]
        if (job.completion.status, job.completion.stream_bytes) != (made.status, made.bytes):
            raise SimulationError(f"{job.completion} of {descriptor}, expected {made.status.name}")
    seen += _longer_streams(model, words)
    for number in range(40):
        ring, op = ((OFFLOAD, Op.COPY_OUT), (PREFETCH, Op.COPY_IN))[number % 2]
        stripes = int(rng.integers(1, 1 << int(rng.integers(1, 22))))
        count = int(rng.integers(1, min(1 << 32, (1 << 32) // stripes)))
        count >>= int(rng.integers(0, 12))
        nbytes = max(1, count) * stripes * config.stripe_bytes
        limit = word * int(rng.integers(0, min(nbytes, 1 << 32) // word))
        descriptor = Descriptor(
            op, rows=count, row_bytes=stripes * config.stripe_bytes, limit=limit, word_bytes=word
        )
        job = model.run(ring, descriptor)
        seen += [str(job.completion), job.cycles]
        found = job.completion
        if (found.status, found.stream_bytes, found.where) != (16, nbytes, limit):
            raise SimulationError(f"{found} of {descriptor}, expected OVERFLOW of {nbytes:,}")
    return seen


def _longer_streams(model, words):
    """Prefetches whose limit is above the sum of their index, by each power of two.

    What is left keeps its upper bits until the end, where the error is.
    """
    config, seen = model.config, []
    made = golden.offload(words, config)
    index = model.allocate(HOST, made.index.size).address
    model.at(HOST, index, made.index.size)[:] = made.index
    model.at(HOST, 0, made.bytes)[:] = made.stream
    for bit in range(config.word_bytes.bit_length() - 1, config.address_bits):
        descriptor = Descriptor(
            Op.VERIFY,
            index=index,
            row_bytes=words.nbytes,
            limit=min(made.bytes + (1 << bit), (1 << config.address_bits) - config.word_bytes),
            word_bytes=config.word_bytes,
            with_index=True,
        )
        job = model.run(PREFETCH, descriptor)
        seen += [str(job.completion), job.cycles]
        found = job.completion
        if (found.status, found.stripe) != (Status.INDEX, made.stripe):
            raise SimulationError(f"{found} of {descriptor}, expected INDEX behind the last stripe")
    return seen


def sizes(model: OpenModel) -> list:
    """Jobs of each power of two of bytes or rows that end early: by an error, or by an abort."""
    config, seen = model.config, []
    stripe, end = config.stripe_bytes, 1 << config.address_bits
    low = stripe.bit_length() - 1
    rng = np.random.default_rng(10)
    entries = model.allocate(HOST, 64 * INDEX_BYTES)
    empty = golden.offload(np.zeros(config.stripe_words, config.format.dtype), config)
    entries.data[:] = np.tile(empty.index, 64)
    for bit in range(low, config.address_bits):
        at = 1 + bit % 5  # stripe of the error
        nbytes = min((1 << bit) + 4 * config.word_bytes * (bit % 3), end - 8 * stripe)
        for op in (Op.OFFLOAD, Op.MEASURE, Op.COPY_OUT, Op.VERIFY, Op.PREFETCH, Op.COPY_IN):
            is_offload = op in (Op.OFFLOAD, Op.MEASURE, Op.COPY_OUT)
            is_copy = op in (Op.COPY_OUT, Op.COPY_IN)
            if bit % 3 and op in (Op.MEASURE, Op.COPY_OUT):
                continue
            if op is Op.COPY_IN and bit != low + 1:
                continue  # behind an error, the engine goes through all stripes that it has begun
            device = stripe * int(rng.integers(1, 7))
            is_long = bit > low + 3
            model.engine.clear_faults()
            if is_long and (is_offload or is_copy):
                model.engine.fault(DEVICE, device + at * stripe, 4, response=3)
            if is_long and not is_offload and not is_copy:
                entries.data[8 * at + 3] = 0x80
            fields = {"limit": nbytes if is_copy else end - (1 << 20)}
            if is_copy or is_offload:
                fields["host"] = 0
            descriptor = Descriptor(
                op,
                device=device,
                row_bytes=nbytes,
                pitch=int(rng.integers(-(1 << 62), 1 << 62)),  # of one row, any
                word_bytes=config.word_bytes,
                with_index=not is_offload and not is_copy,
                index=int(rng.integers(1 << 63)) if is_offload or is_copy else entries.address,
                **fields,
            )
            job = model.run(OFFLOAD if is_offload else PREFETCH, descriptor)
            entries.data[8 * at + 3] = empty.index[3]
            seen += [str(job.completion), job.cycles]
    model.engine.clear_faults()
    for bit in range(1, 32):
        for ring, op in ((OFFLOAD, Op.OFFLOAD), (PREFETCH, Op.VERIFY)):
            seen += _many_rows(model, ring, op, bit, entries, empty)
    return seen


def _many_rows(model, ring, op, bit, entries, empty):
    """A job of more rows than fit a run: it fails in one of its first stripes, or is aborted."""
    config = model.config
    stripe = config.stripe_bytes
    count = (1 << bit) + 3
    pitch = stripe * (bit % 4) if bit < 20 else 0
    is_long = count > 16
    if op is Op.OFFLOAD and is_long and pitch:
        model.engine.fault(DEVICE, 3 * stripe + 7 * pitch, 4, response=2)
    if op is Op.VERIFY and is_long:
        entries.data[8 * 9 + 3] = 0x80
    size = (count if op is Op.VERIFY else 1) * (int(empty.index[0]) | int(empty.index[1]) << 8)
    descriptor = Descriptor(
        op,
        device=3 * stripe,
        rows=count,
        row_bytes=stripe,
        pitch=pitch,
        word_bytes=config.word_bytes,
        limit=1 << 32 if is_long else size,
        with_index=op is Op.VERIFY,
        index=entries.address if op is Op.VERIFY else 0,
    )
    model.submit(ring, descriptor)
    model.engine.run(600)
    if model.peek(ring) is None:
        model.abort(ring)
        seen = [str(model.wait(ring))]
        model.resync(ring)
        model.write("RING", "CTRL", 1, ring)
        model.until_state(ring, State.RUNNING)
    else:
        seen = [str(each) for each in model.collect(ring, 1)]
    entries.data[8 * 9 + 3] = empty.index[3]
    model.engine.clear_faults()
    return seen


def entries(model: OpenModel) -> list:
    """Each bit of an index entry inverted: sizes, flags, reserved bits and the CRC."""
    config, seen = model.config, []
    rng = np.random.default_rng(11)
    words = _words(config, rng, 3)
    made = golden.offload(words, config, crc=True)
    stream = made.stream.size
    host = model.allocate(HOST, stream, offset=12)
    host.data[:] = made.stream
    index = model.allocate(HOST, made.index.size)
    device = 9 * config.stripe_bytes
    for bit in range(64):
        wrong = made.index.copy()
        wrong[8 + bit // 8] ^= 1 << bit % 8
        index.data[:] = wrong
        descriptor = Descriptor(
            Op.VERIFY if bit % 3 else Op.PREFETCH,
            device=device,
            host=host.address,
            index=index.address,
            row_bytes=words.nbytes,
            limit=stream,
            word_bytes=config.word_bytes,
            with_index=True,
            crc=True,
        )
        expected = golden.salvage_stripes(made.stream, wrong, words.size, config, crc=True)
        found = model.run(PREFETCH, descriptor)
        seen += [str(found.completion), found.cycles]
        if (found.completion.status, found.completion.stripe) != (
            expected.status,
            expected.stripe,
        ):
            raise SimulationError(f"{found.completion} of bit {bit}, not {expected.status.name}")
    return seen


def _words(config, rng, stripes):
    count = int(stripes * config.stripe_words)
    words = rng.integers(1, 1 << min(63, config.word_bits), count).astype(config.format.dtype)
    return words * (rng.random(count) < 0.5).astype(words.dtype)


def _place(rng, config, taken, power, align, number):
    """Address of a few bytes across a border, or anywhere; apart from those that are ``taken``."""
    end = (1 << config.address_bits) - _NEAR
    border = 1 << max(power, _NEAR.bit_length())
    address = border - align * int(rng.integers(1, 1 + 256 // align))
    is_far = number % 3 == 0
    while is_far or any(abs(address - other) < size for other, size in taken):
        address = align * int(rng.integers(0, end // align))
        is_far = False
    taken.append((address, _NEAR))
    return address


def _buffers(model, descriptor, stream, index):
    return {
        "tensor": _buffer(model, DEVICE, descriptor.device, descriptor.row_bytes),
        "host": _buffer(model, HOST, descriptor.host, stream),
        "index_buffer": _buffer(model, HOST, descriptor.index, index),
    }


def _buffer(model, space, address, size):
    return Buffer(space, address, model.at(space, address, size))


def _check(problem):
    if problem:
        raise SimulationError(problem)
