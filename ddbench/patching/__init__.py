"""A patch series for SGLang, applied to a copy of the installed package in a cache folder.

The installation itself is never written to. A server gets the copy by its PYTHONPATH.
"""
