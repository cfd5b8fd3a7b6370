"""Training on a Ray cluster: the loop runs in one process, Ray actors play the games. Import
`joined` from here; only `training.run` imports `actors`.

Only `Actors` have another implementation here; loop, learner, replay buffer, evaluation and folder
are the same as on one machine. Ray places the processes, restarts those that die, and
carries weights and positions in its object store:

- the driver, the process that begins the run: learner, evaluation, folder;
- self-play actors (`worker`), which play the chunks that the driver orders (`actors`).

Nothing else in ludarium imports Ray, and this package only imports it when it is used.
"""

from .connection import joined

__all__ = ["joined"]
