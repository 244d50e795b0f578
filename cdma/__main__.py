"""``python -m cdma`` is the command ``cdma``."""

from cdma.cli.main import entry

entry()
