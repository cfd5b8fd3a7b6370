"""The parts of PettingZoo outside its documented interface that the AEC environment uses.

Each name is looked up on import. If one is missing, the error names it, and the versions of
PettingZoo that have it.
"""

from __future__ import annotations

from ludarium.base.private_names import PrivateNames

required = PrivateNames("pettingzoo", "pettingzoo>=1.25,<1.28")

# Methods of every AEC environment, and the attribute in which they keep the agent whose turn it is
# while dead agents step.
_base = required("pettingzoo.AECEnv", "_accumulate_rewards", "_deads_step_first", "_was_dead_step")
if "_skip_agent_selection" not in _base._was_dead_step.__code__.co_names:
    raise required.missing("pettingzoo.AECEnv._skip_agent_selection")

# The classes behind loops over ``agent_iter()``.
AECIterable = required("pettingzoo.utils.env.AECIterable", "__iter__")
AECIterator = required("pettingzoo.utils.env.AECIterator", "__next__")

# The warnings and errors of PettingZoo's wrappers.
EnvLogger = required(
    "pettingzoo.utils.env_logger.EnvLogger",
    *("error_agent_iter_before_reset", "error_observe_before_reset", "error_render_before_reset"),
    *("error_state_before_reset", "error_step_before_reset", "warn_on_illegal_move"),
    "warn_step_after_terminated_truncated",
)
