"""What is read from a Liberty file, and which files are refused."""

import gzip

import pytest

from cdma.errors import UserError
from cdma.synth import liberty
from cdma.synth.liberty import library
from cdma.synth.liberty.tree import parse


def test_smallest_buffer_and_nand(library_file):
    library = liberty.read(library_file)
    assert library.name == "toy"
    assert library.buffer == "BUF"
    assert library.nand2_area == 2.5
    assert library.gate_equivalents(25.0) == 10.0
    assert not library.has_enables


def test_gzip_reads_the_same(library_file, tmp_path):
    packed = tmp_path / "toy.lib.gz"
    packed.write_bytes(gzip.compress(library_file.read_bytes()))
    assert liberty.read(packed) == liberty.read(library_file)


def test_folder_means_nangate45(library_file, tmp_path):
    (tmp_path / "nangate45_typ.lib.gz").write_bytes(gzip.compress(library_file.read_bytes()))
    assert liberty.read(tmp_path).name == "toy"


def test_enable_flip_flop_is_seen(library_file):
    text = library_file.read_text().replace('"D";', '"(E & D) | (!E & IQ)";')
    library_file.write_text(text)
    assert liberty.read(library_file).has_enables


def test_dont_use_cells_are_passed_over(library_file):
    text = library_file.read_text()
    library_file.write_text(text.replace("cell(BUF) {", "cell(BUF) { dont_use : true;"))
    assert liberty.read(library_file).buffer == "BUFBIG"


@pytest.mark.parametrize(
    ("function", "table"),
    [
        ("A' + B'", [1, 1, 1, 0]),
        ("!(A&B)", [1, 1, 1, 0]),
        ("(!A) | (!B)", [1, 1, 1, 0]),
        ("A ^ B", [0, 1, 1, 0]),
        ("!A ^ B", [1, 0, 0, 1]),
        ("A B", [0, 0, 0, 1]),
        ("A + B ^ 1", [1, 0, 1, 1]),
        ("A & 0 | B", [0, 1, 0, 1]),
    ],
)
def test_truth_table_of_a_function(library_file, function, table):
    text = library_file.read_text()
    library_file.write_text(text.replace("(A B)'", function))
    cells = {name: values for name, _, values in library._cells(parse(library_file.read_text()))}
    assert cells["NAND2"] == table


@pytest.mark.parametrize("function", ["IQ", "A ? B", "(A"])
def test_cell_whose_function_is_not_of_its_inputs_is_left_out(library_file, function):
    text = library_file.read_text()
    library_file.write_text(text.replace("(A B)'", function))
    assert "NAND2" not in {name for name, _, _ in library._cells(parse(library_file.read_text()))}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"module m; endmodule\n", r"not a Liberty file \(no library group\)"),
        (b"\xff\xfe\x00", r"not a Liberty file \(not text\)"),
        (b"\x1f\x8b\x08\x00damaged", r"the gzip file is cut short or damaged \(.*\)"),
        (b"library(x) {\ncell(A) {\n", r"the file is cut short \(its last group is not closed\)"),
        (b"library(x) { }", "the library has no buffer, which the flow needs"),
    ],
)
def test_bad_file_is_refused_in_one_line(tmp_path, content, complaint):
    path = tmp_path / "bad.lib"
    path.write_bytes(content)
    with pytest.raises(UserError, match=rf"^\S*bad\.lib: {complaint}$"):
        liberty.read(path)


def test_truncated_gzip_is_refused(library_file, tmp_path):
    packed = gzip.compress(library_file.read_bytes())
    path = tmp_path / "cut.lib.gz"
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(UserError, match=r"cut\.lib\.gz: the gzip file is cut short or damaged"):
        liberty.read(path)


def test_missing_file_says_what_would_help(tmp_path):
    with pytest.raises(UserError, match=r"No such file .*--liberty or CDMA_LIBERTY$"):
        liberty.read(tmp_path / "none.lib")
