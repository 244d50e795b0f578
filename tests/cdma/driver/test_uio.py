"""The accessor of a UIO device, on a file in its place."""

import os

import pytest

from cdma.driver import DriverError, UioDevice


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "uio0"
    file.write_bytes(bytes(4096))
    return file


def test_registers_are_words_of_the_map(path):
    device = UioDevice(str(path))
    device.write(0x104, 0x12345678)
    assert device.read(0x104) == 0x12345678
    assert device.read(0x100) == 0
    device.close()
    assert path.read_bytes()[0x104:0x108] == bytes.fromhex("78563412")


def test_the_interrupt_is_unmasked_and_counted(path, monkeypatch):
    device = UioDevice(str(path))
    reads, writes = os.pipe()
    sent = []
    monkeypatch.setattr(os, "write", lambda file, data: sent.append(data))
    monkeypatch.setattr(device, "_file", reads)
    assert not device.wait(0.01)
    monkeypatch.undo()
    device._file, kept = reads, device._file
    os.write(writes, bytes(4))
    monkeypatch.setattr(os, "write", lambda file, data: sent.append(data))
    assert device.wait(1)
    assert not device.wait(0.01)  # it was taken
    assert sent == [bytes([1, 0, 0, 0])] * 3
    device._file = kept
    os.close(reads)
    device.close()


@pytest.mark.parametrize("address", [2, -4, 4096])
def test_addresses_are_checked(path, address):
    with pytest.raises(DriverError, match="no register at"):
        UioDevice(str(path)).read(address)


def test_what_cannot_be_mapped_is_named(tmp_path):
    with pytest.raises(DriverError, match="cannot open the device"):
        UioDevice(str(tmp_path / "uio9"))
    short = tmp_path / "short"
    short.write_bytes(b"1234")
    with pytest.raises(DriverError, match="cannot map its registers"):
        UioDevice(str(short))
