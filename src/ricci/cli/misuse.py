"""The error of a command line, or of a file that it names: the status is 2, where that of wrong mathematics is 1."""

from ricci.errors import InputError


class MisuseError(InputError):
    """What was typed after ``ricci``, or what is in a file, cannot be used."""
