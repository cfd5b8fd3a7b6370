"""The Bradley-Terry model, with draws and the advantage of moving first, by maximum likelihood.

Each player has a strength. Let ``d`` be the strength of player_0, minus that of player_1, plus the
advantage of moving first; then the results of a game have likelihoods in the ratio

    player_0 wins : draw : player_1 wins  =  exp(d / 2) : nu : exp(-d / 2).

Without draws (``nu = 0``) this is the model of R. A. Bradley and M. E. Terry, "Rank Analysis of
Incomplete Block Designs", 1952. Draws follow R. R. Davidson, "On Extending the Bradley-Terry
Model to Accommodate Ties in Paired Comparison Experiments", 1970; the advantage follows Davidson
and R. J. Beaver, "On Extending the Bradley-Terry Model to Incorporate Within-Pair Order Effects",
1977. On Elo's scale 400 points stand for ten wins against one loss; without draws, for
10/11 of the points.

So a game is a choice between three results, whose logits are linear in the parameters: the
strengths, the advantage and ``log(nu)``. The logarithm of the likelihood is concave, and Newton's
method finds its maximum. To keep strengths finite, one game is added for each pair that met, half a
win for either side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from .statistics import ELO, Z_95, IntervalEstimate, MatchResult

_MOST_STEPS = 200
_DAMPING = 1e-9
_EXACT = 1e-9
_LARGEST_STEP = 1.0  # limit on a step, in units of strength

#: Two players by name, and the results of the first.
Pairing = tuple[str, str, MatchResult]


class BradleyTerry:
    """The most likely strengths of players, given the results of their games.

    Args:
        results: for two players each the results of the first, who was player_0 in these games
            (with ``points_only`` in either seat). A pair may occur several times, in either order.
        fixed: Elo points of players whose ratings are known; without any, the mean of all is 0.
        points_only: a draw counts as half a win and half a loss, and moving first is worth nothing:
            the simpler model for results of both seats together.

    Attributes:
        names: the players, those that are ``fixed`` first.

    Raises:
        ValueError: there are no games, a result is negative or not finite, a known rating is not
            finite, a player meets itself, or no chain of games leads from a player to one with a
            known rating (to the first one, if there are none); the message names the players.
    """

    def __init__(
        self,
        results: Iterable[Pairing],
        fixed: Mapping[str, float] | None = None,
        points_only: bool = False,
    ) -> None:
        results = list(results)
        _check(results, fixed or {})
        players = [name for first, second, _ in results for name in (first, second)]
        self.names = list(dict.fromkeys([*(fixed or {}), *players]))
        self._is_centred = not fixed
        known = fixed or {self.names[0]: 0.0}
        counts = _count(results, points_only)
        goal = "a player with a known rating" if fixed else "the other players"
        _check_connected(self.names, counts, known, goal)
        self._games = dict.fromkeys(self.names, 0)
        for first, second, result in results:
            self._games[first] += result.games
            self._games[second] += result.games

        # 1. The logits of win, draw and loss are `features @ parameters`: d / 2, log(nu), -d / 2,
        #    with the strengths, the advantage and log(nu) as parameters.
        number = {name: place for place, name in enumerate(self.names)}
        size, rows = len(self.names), np.arange(len(counts))
        pairs = np.array([[number[name] for name in pair] for pair in counts])
        win = np.zeros((len(counts), size + 2))
        win[rows, pairs[:, 0]], win[rows, pairs[:, 1]], win[:, size] = 0.5, -0.5, 0.5
        draw = np.zeros_like(win)
        draw[:, size + 1] = 1
        features = np.stack([win, draw, -win], axis=1)
        self._counts = np.array(list(counts.values()))
        self._has_draws = bool(self._counts[:, 1].any())
        if not self._has_draws:
            features, self._counts = features[:, ::2], self._counts[:, ::2]

        # 2. Only the free parameters vary; the held ones add an offset to the logits.
        is_known = [name in known for name in self.names]
        self._is_free = ~np.array([*is_known, points_only, not self._has_draws])
        self._held = np.zeros(size + 2)
        for name, elo in known.items():
            self._held[number[name]] = elo / ELO
        self._offset = features @ self._held
        self._features = features[:, :, self._is_free]

        # 3. The maximum, and the inverse of the information there: the covariance.
        start = np.zeros(size + 2)
        start[:size] = np.mean(list(known.values())) / ELO
        self._best = self._maximise(start[self._is_free])
        self._covariance = np.linalg.inv(self._derivatives(self._best)[1])

    @property
    def nu(self) -> float:
        """Twice the ratio of draws to decided games between equals; 0 without draws."""
        return math.exp(self._best[-1]) if self._has_draws else 0.0

    def rating(self, name: str) -> IntervalEstimate:
        """A player's rating in Elo points, with the 95 % interval of the profile likelihood.

        The interval holds all ratings for which the largest likelihood that the other parameters
        can reach is within a factor of ``exp(1.92)`` of the maximum. It describes the
        distance to the known players, or to the mean of all.

        Raises:
            ValueError: there is no such player.
        """
        contrast = np.zeros(len(self._is_free))
        contrast[self.names.index(name)] = 1
        if self._is_centred:
            contrast[: len(self.names)] -= 1 / len(self.names)
        return self._estimate(contrast, self._games[name])

    def advantage(self) -> IntervalEstimate:
        """How many Elo points moving first is worth, with its 95 % interval (see `rating`)."""
        return self._estimate(np.eye(len(self._is_free))[-2], sum(self._games.values()) // 2)

    def _log_likelihood(self, parameters: np.ndarray) -> float:
        logits = self._offset + self._features @ parameters
        return float((self._counts * (logits - _log_sum(logits))).sum())

    def _derivatives(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and information (minus the Hessian) of the logarithm of the likelihood.

        The gradient is what was observed minus what is expected of the features, the information
        is the sum of their covariances in each game.
        """
        logits = self._offset + self._features @ parameters
        chances = np.exp(logits - _log_sum(logits))
        games = self._counts.sum(axis=1, keepdims=True)
        means = (chances[..., None] * self._features).sum(axis=1, keepdims=True)
        gradient = np.tensordot(self._counts - games * chances, self._features)
        weighted = (games * chances)[..., None] * (self._features - means)
        information = np.tensordot(weighted, self._features, axes=((0, 1), (0, 1)))
        # Far from the players' ratings the information rounds to 0, and no step follows from it.
        return gradient, information + _DAMPING * np.eye(len(parameters))

    def _maximise(self, parameters: np.ndarray, contrast: np.ndarray | None = None) -> np.ndarray:
        """The most likely parameters, by Newton's method.

        Args:
            parameters: where to start.
            contrast: if given, ``contrast @ parameters`` stays as it is.
        """
        value = self._log_likelihood(parameters)
        for _ in range(_MOST_STEPS):
            gradient, information = self._derivatives(parameters)
            step = np.linalg.solve(information, gradient)
            if contrast is not None:  # take out what would change it
                across = np.linalg.solve(information, contrast)
                step -= contrast @ step / (contrast @ across) * across
            step /= max(1.0, np.abs(step).max(initial=0) / _LARGEST_STEP)
            while self._log_likelihood(parameters + step) < value and _is_long(step):
                step /= 2  # too far: the likelihood fell
            parameters = parameters + step
            value = self._log_likelihood(parameters)
            if not _is_long(step):
                break
        return parameters

    def _estimate(self, contrast: np.ndarray, games: int) -> IntervalEstimate:
        """Elo points of a linear function of all parameters, with the profile's interval."""
        free = contrast[self._is_free]
        elo = ELO * float(contrast @ self._held + free @ self._best)
        half = Z_95 * math.sqrt(free @ self._covariance @ free)
        if not half:
            return IntervalEstimate.known(elo, games)
        low, high = (elo + ELO * self._end(free, first) for first in (-half, half))
        return IntervalEstimate(elo, low, high, games)

    def _end(self, contrast: np.ndarray, start: float) -> float:
        """How far ``contrast @ parameters`` is from the best at an end of its interval.

        Newton's method: the profile likelihood is concave, and its slope is the factor by which the
        gradient at its maximum is a multiple of the contrast.

        Args:
            contrast: a linear function of the free parameters.
            start: the distance to begin at, such as some standard errors.
        """
        along = self._covariance @ contrast / (contrast @ self._covariance @ contrast)
        target = self._log_likelihood(self._best) - Z_95**2 / 2
        parameters, distance, following = self._best, 0.0, start
        for _ in range(_MOST_STEPS):
            # 1. The likelihood's maximum at this distance.
            parameters = self._maximise(parameters + along * (following - distance), contrast)
            distance = following
            # 2. How much it is off the target, and how fast that changes with the distance.
            missing = target - self._log_likelihood(parameters)
            slope = float(contrast @ self._derivatives(parameters)[0] / (contrast @ contrast))
            if abs(missing) < 1e-6 or not slope:
                break
            following = distance + missing / slope
        return distance


def fit_ratings(
    results: Iterable[Pairing], fixed: Mapping[str, float]
) -> dict[str, IntervalEstimate]:
    """The ratings of all players by their points alone.

    A draw is half a win and half a loss, so 400 points stand for 10/11 of the points whatever
    the draws. Anchors are rated in this way, because then `statistics.expected_score` predicts the
    points against them. Games that may be drawn vary less than this model has it, so intervals are
    wider than necessary, never narrower.

    Args:
        results: for two players each the results of the first, in any seats.
        fixed: ratings of players that are known, at least one.

    Returns:
        The rating of each player of ``results`` and of ``fixed``; the latter's intervals have no
        width.

    Raises:
        ValueError: see `BradleyTerry`.
    """
    results = list(results)
    if not results:
        return {name: IntervalEstimate.known(elo) for name, elo in fixed.items()}
    model = BradleyTerry(results, fixed, points_only=True)
    return {name: model.rating(name) for name in model.names}


def _count(results: list[Pairing], points_only: bool) -> dict[tuple[str, str], np.ndarray]:
    """Wins, draws and losses by the names of player_0 and player_1, with the added game."""
    counts: dict[tuple[str, str], np.ndarray] = {}
    for first, second, result in results:
        for pair in ((first, second), (second, first)):
            counts.setdefault(pair, np.array([0.25, 0.0, 0.25]))
        half = result.draws / 2 if points_only else 0.0
        draws = 0.0 if points_only else result.draws
        counts[first, second] += result.wins + half, draws, result.losses + half
    return counts


def _log_sum(logits: np.ndarray) -> np.ndarray:
    """``log(sum(exp(logits)))`` over the last axis, which is kept."""
    total: np.ndarray = np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    return total


def _is_long(step: np.ndarray) -> bool:
    return bool(np.abs(step).max(initial=0) >= _EXACT)


def _check(results: list[Pairing], fixed: Mapping[str, float]) -> None:
    for name, elo in fixed.items():
        if not math.isfinite(elo):
            raise ValueError(f"the rating of {name} is {elo}; accepted: a finite number")
    if not results:
        raise ValueError("ratings need games; there are none")
    for first, second, result in results:
        if first == second:
            raise ValueError(f"player {first} cannot be rated by games against itself")
        if not all(0 <= each < math.inf for each in (result.wins, result.draws, result.losses)):
            raise ValueError(f"a result has a count below 0 or one that is not finite: {result}")


def _check_connected(
    names: list[str], pairs: Iterable[tuple[str, str]], known: Iterable[str], goal: str
) -> None:
    """Refuse players from whom no chain of games leads to a known one."""
    reached = set(known)
    while further := {other for one, other in pairs if one in reached} - reached:
        reached |= further
    stray = [name for name in names if name not in reached]
    if stray:
        raise ValueError(f"no match leads from {', '.join(stray)} to {goal}")
