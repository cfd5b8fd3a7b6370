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

The model is an exponential family: the logarithm of the likelihood is concave, and Newton's method
finds its maximum. To keep strengths finite, one game is added for each pair that met, half a
win for either side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .statistics import Z_95, Match, Rating

#: Elo points per unit of strength.
ELO = 400 / math.log(10)

_MOST_STEPS = 200
_DAMPING = 1e-9
_EXACT = 1e-9
_LARGEST_STEP = 1.0  # limit on a step, in units of strength


@dataclass(frozen=True)
class Score:
    """Results between two players who kept their seats.

    Attributes:
        first, second: names of player_0 and player_1; in a fit of points only, in any order.
        wins, draws, losses: counts for ``first``, not necessarily whole numbers.
    """

    first: str
    second: str
    wins: float
    draws: float
    losses: float


class BradleyTerry:
    """The most likely strengths of players, given the results of their games.

    Args:
        scores: the results. A pair may occur several times, in either order.
        fixed: Elo points of players whose ratings are known; without any, the mean of all is 0.
        points_only: a draw counts as half a win and half a loss, and moving first is worth nothing:
            the simpler model for data that do not tell draws or seats.

    Attributes:
        names: the players, those that are ``fixed`` first.
        nu: the parameter for draws, see above; 0 without draws.

    Raises:
        ValueError: there are no games, a result is negative or not finite, a known rating is not
            finite, a player meets itself, or no chain of games leads from a player to one with a
            known rating (to the first one, if there are none); the message names the players.
    """

    def __init__(
        self,
        scores: Iterable[Score],
        fixed: Mapping[str, float] | None = None,
        points_only: bool = False,
    ) -> None:
        scores = list(scores)
        _check(scores, fixed or {})
        self._is_centred = not fixed
        players = [name for score in scores for name in (score.first, score.second)]
        self.names = list(dict.fromkeys([*(fixed or {}), *players]))
        self._numbers = {name: number for number, name in enumerate(self.names)}
        known = fixed or {self.names[0]: 0.0}
        self._tally(scores, points_only)
        self._check_connected(known)
        # The last two parameters are the advantage and the logarithm of nu.
        size = len(self.names) + 2
        parameters = np.zeros(size)
        parameters[: len(self.names)] = np.mean(list(known.values())) / ELO
        for name, elo in known.items():
            parameters[self._numbers[name]] = elo / ELO
        self._free = [number for number, name in enumerate(self.names) if name not in known]
        if not points_only:
            self._free.append(size - 2)
        if self._counts[:, 1].sum():
            self._free.append(size - 1)
        else:
            parameters[-1] = -np.inf
        self._parameters, self._largest = self._maximise(parameters, None)
        self._covariance = np.linalg.inv(self._derivatives(self._parameters)[1])

    @property
    def nu(self) -> float:
        """Twice the ratio of draws to decided games between equals; 0 without draws."""
        return math.exp(self._parameters[-1])

    def rating(self, name: str) -> Rating:
        """A player's rating, with the 95 % interval of the profile likelihood.

        The interval holds all ratings for which the largest likelihood that the other parameters
        can reach is within a factor of ``exp(1.92)`` of the maximum. It describes the
        distance to the known players, or to the mean of all.
        """
        return self._interval(self._contrast(name))

    def standard_rating(self, name: str) -> Rating:
        """A player's rating, plus and minus 1.96 standard errors by Fisher's information."""
        return self._standard_interval(self._contrast(name))

    def advantage(self) -> Rating:
        """How many Elo points moving first is worth, with its 95 % interval (see `rating`)."""
        return self._interval(np.eye(len(self._parameters))[-2])

    def expected_score(self, first: str, second: str) -> float:
        """Points that ``first`` expects from a game as player_0 against ``second``."""
        one, other = (self._parameters[self._numbers[name]] for name in (first, second))
        win, draw, _ = _chances(np.array([one - other + self._parameters[-2]]), self.nu)
        return float(win[0] + draw[0] / 2)

    def _tally(self, scores: list[Score], points_only: bool) -> None:
        """Make one row for each pair in each order: players, counts of results, and design."""
        tallies: dict[tuple[int, int], np.ndarray] = {}
        for score in scores:
            pair = self._numbers[score.first], self._numbers[score.second]
            counts = np.array([score.wins, score.draws, score.losses], float)
            if points_only:
                counts = np.array([counts[0] + counts[1] / 2, 0, counts[2] + counts[1] / 2])
            for order in (pair, pair[::-1]):
                tallies.setdefault(order, np.array([0.25, 0.0, 0.25]))
            tallies[pair] += counts
        self._pairs = np.array(list(tallies))
        self._counts = np.array(list(tallies.values()))
        rows = np.arange(len(self._pairs))
        self._design = np.zeros((len(self._pairs), len(self.names) + 1))
        self._design[rows, self._pairs[:, 0]] = 1
        self._design[rows, self._pairs[:, 1]] = -1
        self._design[:, -1] = 1  # the advantage of the first

    def _check_connected(self, known: Mapping[str, float]) -> None:
        reached = {self._numbers[name] for name in known}
        while True:
            further = {int(b) for a, b in self._pairs if int(a) in reached} - reached
            if not further:
                break
            reached |= further
        stray = [name for number, name in enumerate(self.names) if number not in reached]
        if stray:
            raise ValueError(
                f"no match leads from {', '.join(stray)} to "
                + ("the other players" if self._is_centred else "a player with a known rating")
            )

    def _contrast(self, name: str) -> np.ndarray:
        """The linear function of the parameters that gives a player's rating."""
        contrast = np.zeros(len(self._parameters))
        contrast[self._numbers[name]] = 1
        if self._is_centred:
            contrast[: len(self.names)] -= 1 / len(self.names)
        return contrast

    def _likelihood(self, parameters: np.ndarray) -> float:
        """The logarithm of the likelihood."""
        win, draw, loss = self._counts.T
        differences = self._design @ parameters[:-1]
        logs = np.logaddexp(differences / 2, -differences / 2)
        if np.isfinite(parameters[-1]):
            logs = np.logaddexp(logs, parameters[-1])
        value = ((win - loss) * differences / 2 - (win + draw + loss) * logs).sum()
        return float(value + (draw.sum() * parameters[-1] if draw.any() else 0.0))

    def _derivatives(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and information (minus the Hessian) of the free parameters."""
        win, draw, loss = self._counts.T
        games = win + draw + loss
        wins, draws, losses = _chances(self._design @ parameters[:-1], math.exp(parameters[-1]))
        surplus = (win - loss - games * (wins - losses)) / 2
        gradient = np.append(self._design.T @ surplus, (draw - games * draws).sum())
        information = np.empty((len(parameters), len(parameters)))
        spread = games * (wins + losses - (wins - losses) ** 2) / 4
        mixed = -games * (wins - losses) * draws / 2
        information[:-1, :-1] = self._design.T @ (spread[:, None] * self._design)
        information[-1, :-1] = information[:-1, -1] = self._design.T @ mixed
        information[-1, -1] = (games * draws * (1 - draws)).sum()
        # Far from the players' ratings the information rounds to 0, and no step follows from it.
        damped = information[np.ix_(self._free, self._free)] + _DAMPING * np.eye(len(self._free))
        return gradient[self._free], damped

    def _maximise(
        self, parameters: np.ndarray, contrast: np.ndarray | None
    ) -> tuple[np.ndarray, float]:
        """Maximise by Newton's method; with a ``contrast``, among parameters of equal contrast.

        Returns:
            The parameters, and the logarithm of their likelihood. ``self._multiplier`` is set to
            its derivative by the contrast's value (the Lagrange multiplier), 0 without a contrast.
        """
        parameters = parameters.copy()
        value = self._likelihood(parameters)
        self._multiplier = 0.0
        for _ in range(_MOST_STEPS if self._free else 0):
            gradient, information = self._derivatives(parameters)
            if contrast is None:
                step = np.linalg.solve(information, gradient)
            else:
                direct, across = np.linalg.solve(information, np.array([gradient, contrast]).T).T
                self._multiplier = float(contrast @ direct / (contrast @ across))
                step = direct - self._multiplier * across
            step /= max(1.0, float(np.abs(step).max()) / _LARGEST_STEP)
            while True:
                moved = parameters.copy()
                moved[self._free] += step
                reached = self._likelihood(moved)
                if reached >= value or np.abs(step).max() < _EXACT:
                    break
                step /= 2
            parameters, value = moved, reached
            if np.abs(step).max() < _EXACT:
                break
        return parameters, value

    def _standard_interval(self, contrast: np.ndarray) -> Rating:
        finite = np.where(np.isfinite(self._parameters), self._parameters, 0.0)
        free = contrast[self._free]
        elo = float(contrast @ finite) * ELO
        half = Z_95 * ELO * math.sqrt(max(0.0, float(free @ self._covariance @ free)))
        return Rating(elo, elo - half, elo + half)

    def _interval(self, contrast: np.ndarray) -> Rating:
        """Find both ends by Newton's method: the profile likelihood is concave in the contrast."""
        start = self._standard_interval(contrast)
        if start.low == start.high:
            return start  # a known player
        return Rating(
            start.elo,
            self._end(contrast, start.elo, start.low),
            self._end(contrast, start.elo, start.high),
        )

    def _end(self, contrast: np.ndarray, best: float, end: float) -> float:
        free = contrast[self._free]
        along = self._covariance @ free
        along /= free @ along
        target = self._largest - Z_95**2 / 2
        value, parameters = best, self._parameters
        for _ in range(_MOST_STEPS):
            moved = parameters.copy()
            moved[self._free] += along * (end - value) / ELO
            parameters, likelihood = self._maximise(moved, free)
            value = end
            if abs(likelihood - target) < 1e-6 or not self._multiplier:
                break
            end += (target - likelihood) / self._multiplier * ELO
        return end


def fitted_by_points(matches: Sequence[Match], fixed: Mapping[str, float]) -> BradleyTerry:
    """The model fitted to matches whose draws and seats are not known.

    A draw is half a win and half a loss, so 400 points stand for 10/11 of the points whatever
    the draws. Anchors are rated in this way, because then `statistics.expected_score` predicts the
    points against them.

    Args:
        matches: the results.
        fixed: ratings of players that are known, at least one.

    Raises:
        ValueError: there are no matches, or no chain of them leads from a player to one whose
            rating is known.
    """
    scores = [Score(m.first, m.second, m.points, 0, m.games - m.points) for m in matches]
    return BradleyTerry(scores, fixed, points_only=True)


def fit_ratings(matches: Sequence[Match], fixed: Mapping[str, float]) -> dict[str, Rating]:
    """The ratings of all players by `fitted_by_points`, with 1.96 standard errors.

    Returns:
        The rating of each player of ``matches`` and of ``fixed``; the latter have empty intervals.
    """
    if not matches:
        return {name: Rating(elo, elo, elo) for name, elo in fixed.items()}
    model = fitted_by_points(matches, fixed)
    return {name: model.standard_rating(name) for name in model.names}


def _chances(differences: np.ndarray, nu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities of a win, a draw and a loss of player_0."""
    win = np.exp(np.minimum(0, differences))  # scaled by exp(-max(d, 0)), so that nothing overflows
    loss = np.exp(-np.maximum(0, differences))
    draw = nu * np.exp(-np.abs(differences) / 2)
    total = win + draw + loss
    return win / total, draw / total, loss / total


def _check(scores: list[Score], fixed: Mapping[str, float]) -> None:
    for name, elo in fixed.items():
        if not math.isfinite(elo):
            raise ValueError(f"the rating of {name} is {elo}; accepted: a finite number")
    if not scores:
        raise ValueError("ratings need games; there are none")
    for score in scores:
        if score.first == score.second:
            raise ValueError(f"player {score.first} cannot be rated by games against itself")
        if not all(0 <= each < math.inf for each in (score.wins, score.draws, score.losses)):
            raise ValueError(f"a result has a count below 0 or one that is not finite: {score}")
