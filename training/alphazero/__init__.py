"""AlphaZero: self-play with batched search, a learner, and the loop around them.
`training.run` imports `loop`; a cluster imports `actors`, `variants` and `self_play`, `ludarium
bench` `actors` and `self_play`; `kernels` says who imports it.
"""
