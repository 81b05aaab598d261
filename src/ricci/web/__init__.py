"""Answers for the page in a browser and for servers, and the page itself.

A request comes in, a dictionary as JSON has it: a text, by what to differentiate, which views are wanted; an answer of
the same kind goes out. ``answers`` makes it, ``asking`` checks what was asked, ``recognising`` says in which language a
text is, ``tabs`` has a function for each view, ``small_values`` computes with small arrays. ``static_page`` builds the
folder of the page, whose own files are in ``page``, with what ``packages`` takes from the npm registry. All of ricci
but the command line and helpers of tests may be imported; NumPy may not, since in a browser there is none.
"""
