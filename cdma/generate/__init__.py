"""Generated hardware as files."""
