"""AlphaZero: self-play with batched search, a learner, and the loop around them."""
