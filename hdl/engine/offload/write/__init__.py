"""A dense stream of words on its way to host memory."""
