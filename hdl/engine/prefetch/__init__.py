"""Host memory to device memory."""
