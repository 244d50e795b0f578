"""Error-bounded lossy codec ``lossy-zvc``: quantised floating point, zero-value compressed."""
