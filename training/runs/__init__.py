"""The parts that training runs of all algorithms share: folder, reports, outer loop. Algorithms
import `trainer`, `state` and `metrics`; code that writes a folder imports `files`, `folder` and
`lock`; `training.run`, `training.tuning`, `arena.curve` and commands import the rest too.
"""
