"""The ``.zvc`` container: its header, and arrays in files."""
