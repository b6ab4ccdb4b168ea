"""How often Python looks for cycles among objects, for processes that handle many small ones."""

import gc


def relax_collector() -> None:
    """Look a tenth as often as by default, and never again at what start-up made.

    Our values hold no cycles; a request or a set of steps makes thousands of objects that live for
    milliseconds. Measured: 500 claims a request cost 23 % less CPU (bench/RESULTS.md).
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)
