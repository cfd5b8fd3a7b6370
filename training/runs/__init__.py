"""The parts that training runs of all algorithms share: folder, reports, outer loop. Algorithms
import `trainer`, `state` and `metrics`; `training.run`, `training.tuning`, `arena.curve` and
commands import `folder` and the rest too.
"""
