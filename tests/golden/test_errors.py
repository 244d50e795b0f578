import pickle

from cdma.golden import ErrorCode, StreamError


def test_text_names_the_offset():
    error = StreamError("zero word sent as non-zero", 12, ErrorCode.ZERO_WORD)
    assert isinstance(error, ValueError)
    assert str(error) == "Byte 12: zero word sent as non-zero"


def test_survives_pickling():
    """Errors cross processes whole: test runners and pools send them so."""
    error = pickle.loads(pickle.dumps(StreamError("why", 3, ErrorCode.TRAILING)))
    assert (error.reason, error.offset, error.code) == ("why", 3, ErrorCode.TRAILING)
