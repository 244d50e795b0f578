"""Device memory to host memory."""
