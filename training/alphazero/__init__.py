"""AlphaZero: self-play with batched search, a learner, and the loop around them.
`training.run` imports `loop`; a cluster imports `actors`, `variants` and `self_play`, `ludarium
bench` the first and the last of these.
"""
