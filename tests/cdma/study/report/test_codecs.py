from cdma.study.report import codecs

NAMES = ("zvc32", "zvcplus", "zvcplus_left", "zvcplus_above", "ebpc")
NAMES += ("zlib4k", "zlib", "zstd", "lz4", "bound")


def record(layer, plus, zlib, name="fp32", **fields):
    sizes = {**dict.fromkeys(NAMES, 100), "zvcplus": 200, "zvcplus_above": plus, "zlib4k": zlib}
    return {
        "tensor": layer,
        "network": "vgg",
        "layer": layer,
        "kind": "conv+relu",
        "step": None,
        "format": name,
        "axes": "NCHW",
        "layout": "NCHW",
        "digest": layer,
        "words": 100,
        "bytes": 400,
        "nonzeros": 50,
        "zero_blocks": 0,
        "full_blocks": 0,
        "sizes": sizes,
        "ratios": {key: 400 / size for key, size in sizes.items()},
        **fields,
    }


def cells(text, start):
    """Cells of the first row of a table that starts so."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {start}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_wins_and_losses():
    text = codecs.section([record("a", 100, 160), record("b", 120, 100), record("c", 150, 100)])
    losses = "vgg c (+50.0%), vgg b (+20.0%)"
    plain = "vgg b (+100.0%), vgg c (+100.0%), vgg a (+25.0%)"
    assert cells(text, "zlib 4 KiB") == ["zlib 4 KiB", "1", "0", "2", losses, plain]
    assert cells(text, "zlib  ")[1:5] == ["0", "1", "2", losses]


def test_ratios_by_network_layer_and_type():
    text = codecs.section(
        [record("a", 100, 100), record("b", 400, 100, kind="pool"), record("c", 50, 50, "int8")]
    )
    assert cells(text, "vgg")[1:7] == ["2", "0.5", "4", "2", "4", "1.6"]
    assert cells(text, "pool")[6] == "1"
    assert cells(text, "geometric mean")[6] == "2"
    assert cells(text, "int8")[6] == "8"
    assert "Tensors of int8 that" in text


def test_nothing_without_zvcplus():
    one = record("a", 100, 100)
    del one["sizes"]["zvcplus"]
    assert codecs.section([one]) == ""
    assert codecs.section([record("a", 100, 100, layout="NHWC")]) == ""
