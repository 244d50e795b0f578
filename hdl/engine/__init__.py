"""The engine: tensors from device memory to host memory and back, compressed on the way."""
