"""Benchmarks: each figure is measured together with a reference, in one run on one machine: `python
-m bench`."""
