"""Fuzzing of every border of dcomp: files of counts, fits, config files, native code.

`targets.py` is the table; each target says what it does with some bytes, what may come of it, and
where to begin. `guard.py` has the promise that all of them are held to. Nothing here needs atheris
but `child.py`, so that the tests replay the kept inputs without it.
"""
