"""Machine code: functions that are marked here are compiled once, kept as files, and called.

Nothing here knows a game. ``marks`` says which functions are compiled, ``recipe`` what they are
made of, ``copies`` puts a game's rules into them, ``unit`` finds or makes the machine code of a
template module, ``layouts`` and ``calling`` hand Python's arguments to it. ``making`` is the
compiler: it runs in processes that ``compiler`` starts, and nothing imports it to play.
"""
