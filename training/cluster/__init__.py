"""Training on a Ray cluster: the loop of one machine, with actors and evaluations elsewhere.

Only `Actors` and `Evaluator` have other implementations here; loop, learner, replay buffer and
folder are those of a run on one machine. The processes:

- the driver, which is the one that `ludarium train` starts: learner, replay buffer, folder;
- self-play actors (`worker`), which play chunks that the driver orders (`actors`, `flow`);
- one that plays evaluations (`evaluator`).

Nothing else in ludarium imports Ray, and this package only imports it when it is used.
"""

from .connection import Cluster

__all__ = ["Cluster"]
