"""Descent: minimax to the end of the game, whose values of all positions are learnt.

Cohen-Solal, "Learning to Play Two-Player Perfect-Information Games without Knowledge" (2020, arXiv
2008.01188); Cohen-Solal and Cazenave, "Minimax Strikes Back" (2020, arXiv 2012.10700).

- `tree`: nodes, their order, resolved positions;
- `minimax`: the searches, compiled: Descent, which follows the best line to the end of the game,
  and best-first minimax, which stops at the first new position and plays;
- `search`: many searches from Python, with any function that evaluates;
- `kernels`, `self_play`: games by Descent; `samples`: what is learnt from them;
- `loop`: the training loop.
"""
