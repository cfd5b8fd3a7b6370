"""Reports on a game, for its inventor to read and to post: who wins, how deep, how dramatic. Import
what is in `__all__`.

    report = make_report(make_game("corso"))
    report.write(Path("corso.html"))             # and corso.json

The module `measure` plays the games and counts; `page` shows the results. ``docs/guide/report.md``
explains each figure and where its method comes from.
"""

from .report import Report, compare_options, make_report
from .study import ReportSettings

__all__ = ["Report", "ReportSettings", "compare_options", "make_report"]
