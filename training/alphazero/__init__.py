"""AlphaZero: self-play with batched search, a learner, and the loop around them.
`training.trainers` imports `loop`; a cluster imports `actors` and `self_play`.
"""
