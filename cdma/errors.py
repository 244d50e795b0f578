"""The one exception that means "the user can mend this"."""


class UserError(Exception):
    """A mistake of the caller or a lack of the machine, told in one line: what, where, what helps.

    The command line prints the message on stderr and exits with status 2.
    """
