"""Code to keep: functions of NumPy, PyTorch, JAX, Julia and C, and LaTeX algorithms, that know nothing of ricci.

What comes in are prepared expressions, the compiler's first stage, in which no size is known yet. They are lowered once
more, for any sizes: steps of the same kinds as those of the compiler, whose shapes are symbolic. What goes out is text.

| module | what it does |
|---|---|
| ``assembling`` | steps, each once, with the kinds of their values |
| ``resolving`` | structures in products: reads, reshapes, running sums, and masks for what is left |
| ``contracting`` | products, pair by pair |
| ``any_size`` | a rule for each kind of node |
| ``spelling`` | what functions are called in each language, as tables |
| ``array_code`` | steps as lines of NumPy, PyTorch and JAX |
| ``entry_code`` | steps as lines about single entries, which Julia, C and LaTeX share |
| ``pages`` | the whole of a text: imports, helpers, head, docstring |

No array library is imported.
"""
