"""The command ``cdma``: one module a verb, argument parsing and printing only."""
