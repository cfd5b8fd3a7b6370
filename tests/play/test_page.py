"""The page, in a browser: games are played, shared and analysed, and nothing leaves the host.

The page is that of ``make page``; ``LUDARIUM_SITE`` is the address of another one, with a slash at
its end.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

import pytest

from ludarium.analysis.probing import prober_of
from ludarium.envs import make_game
from ludarium.envs.engine.position import Position
from ludarium.training.exact_values import ValueBounds

from .page_driver import PHONE, PageDriver

CORSO = "#g=corso&o=corso"


@pytest.mark.parametrize("sized", [PHONE], indirect=True, ids=["phone"])
def test_nothing_is_wider_than_a_phone(sized: PageDriver) -> None:
    driver = sized
    driver.open(f"{CORSO}&m=12.6.7.8.3.1")
    for width in (PHONE["width"], 320):
        driver.page.set_viewport_size(PHONE | {"width": width})
        for tab in ("moves", "analysis", "rules"):
            driver.page.locator(f"#tab-{tab}").click()
            assert driver.page.evaluate("document.documentElement.scrollWidth") == width


def test_agent_answers_while_the_page_stays_awake(driver: PageDriver) -> None:
    """However long it thinks on this machine: if it did so in the page, that would be one gap."""
    driver.open("#g=onyx&o=onyx&seat=0&opponent=network:1600")
    driver.page.evaluate(
        """() => {
            window.longest = 0;
            let last = (window.began = performance.now());
            setInterval(() => {
                const now = performance.now();
                window.longest = Math.max(window.longest, now - last);
                last = now;
            }, 10);
        }"""
    )
    driver.play()
    driver.wait_for("document.querySelectorAll('.move').length === 2")
    longest, whole = driver.page.evaluate("[longest, performance.now() - began]")
    assert longest < whole / 2


@pytest.mark.parametrize(
    ("fragment", "message"),
    [
        ("#g=chess", "“chess”"),
        (f"{CORSO}&m=12.99", "Move 2 of the link, “99”"),
        (f"{CORSO}&m={'x' * 5000}", f"“{'x' * 37}...”, cannot be played"),
    ],
)
def test_malformed_link_gives_a_message_and_changes_nothing(
    driver: PageDriver, fragment: str, message: str
) -> None:
    driver.open(f"{CORSO}&m=12.6")
    driver.page.evaluate("fragment => (location.hash = fragment)", fragment)
    driver.page.wait_for_selector("#message:not([hidden])")
    assert message in driver.message
    assert driver.moves == ["c3", "b2"]


def test_link_shows_the_game_at_its_ply(driver: PageDriver) -> None:
    driver.open(f"{CORSO}&m=12.b2.7&p=1")
    assert driver.moves == ["c3", "b2", "c2"]
    assert driver.page.locator(".move.here").inner_text().split() == ["1", "c3"]


def test_move_at_an_earlier_ply_makes_a_variation(driver: PageDriver) -> None:
    driver.open(f"{CORSO}&m=12.6.7&p=1")
    driver.play(target=0)
    assert driver.page.locator(".variation .move").all_inner_texts() != []
    assert driver.moves[:2] == ["c3", "b2"]


def test_plain_list_of_moves_is_read(driver: PageDriver) -> None:
    driver.open(CORSO)
    driver.page.get_by_role("button", name="Share").click()
    driver.page.get_by_label("Record of a game").fill("c3, b2\nc4")
    driver.page.get_by_role("button", name="Load this text").click()
    driver.page.wait_for_selector("dialog", state="detached")
    assert driver.moves == ["c3", "b2", "c4"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("5", "move 1, 5, is not legal in its position"),  # a number is for links
        ("x" * 5000, f"move 1, {'x' * 37}..., is not legal in its position"),
    ],
    ids=["JSON", "number", "long"],
)
def test_record_that_cannot_be_read_gives_a_message(
    driver: PageDriver, text: str, message: str
) -> None:
    driver.open(f"{CORSO}&m=12.6")
    driver.page.get_by_role("button", name="Share").click()
    driver.page.get_by_label("Record of a game").fill(text)
    driver.page.get_by_role("button", name="Load this text").click()
    driver.wait_for("document.querySelector('dialog .told').textContent !== ''")
    assert message in driver.page.locator("dialog .told").inner_text()
    assert driver.moves == ["c3", "b2"]


def test_keyboard_alone_plays_a_move(driver: PageDriver) -> None:
    driver.open(CORSO)
    driver.page.locator("#board").focus()
    driver.page.keyboard.press("ArrowUp")
    driver.page.keyboard.press("ArrowRight")
    driver.page.keyboard.press("Enter")
    assert driver.moves == ["d3"]
    driver.page.get_by_text("Legal moves").click()
    driver.page.get_by_label("Search the legal moves").fill("a5")
    driver.page.keyboard.press("Enter")
    assert driver.moves == ["d3", "a5"]


def test_resigning_asks_first_and_ends_the_game(driver: PageDriver) -> None:
    driver.open()
    driver.new_game(opponent="random")
    driver.play()
    driver.page.get_by_role("button", name="Resign").click()
    driver.page.locator("dialog").get_by_role("button", name="Resign").click()
    assert "has resigned" in driver.page.locator("#player0").inner_text()
    assert "has won" in driver.page.locator("#player1").inner_text()


def test_analysis_shows_values_shares_and_mistakes(driver: PageDriver) -> None:
    driver.open(f"{CORSO}&m=12.6.7")
    driver.page.locator("#tab-analysis").click()
    driver.page.locator("#tab-details").click()
    driver.page.locator("#analysis-size").select_option("50")
    driver.page.locator("#analysis-on").check()
    driver.wait_for("/; 50 simulations/.test(document.querySelector('.best caption')?.textContent)")
    best = driver.page.locator(".chances li").all_text_contents()
    assert 1 <= len(best) <= 4
    assert all(re.fullmatch(r"\S+ \d+ %|\S+ (win|loss).*", text) for text in best)
    chances = driver.page.locator("#board .shares text").all_text_contents()
    assert best[0].split()[1] in chances
    driver.page.locator("#analysis-discs").select_option("visits")
    shares = driver.page.locator("#board .shares text").all_text_contents()
    assert 85 <= sum(map(int, shares)) <= 105
    driver.page.locator("#review").click()
    driver.page.wait_for_selector("#review:enabled")
    assert driver.page.locator(".graph polyline").count() == 1


LATE = "c3 b2 b3 d4 d3 e5 a1 c1"


def _late() -> tuple[Position, str]:
    """A position of Corso that is solved in a moment, and the link to it."""
    position = make_game("corso").start()
    actions = []
    for text in LATE.split():
        actions.append(position.text_to_action(text))
        position.play(actions[-1])
    return position, f"{CORSO}&m={'.'.join(map(str, actions))}"


def _exact_table(driver: PageDriver) -> dict[str, str]:
    rows = driver.page.locator(".best tbody tr").all()
    cells = [row.locator("td").all_inner_texts() for row in rows]
    return {move: value for move, value, *_ in cells}


def test_exact_values_are_those_of_python(driver: PageDriver) -> None:
    position, link = _late()
    asked: list[str] = []
    driver.page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    driver.open(link)
    driver.page.locator("#tab-analysis").click()
    assert not any("/exact/" in path for path in asked)  # nothing of it for those who do not ask
    driver.page.locator("#analysis-on").check()
    driver.wait_for("/21 of 21 moves/.test(document.querySelector('.exactly')?.textContent)")
    answers = prober_of(position.game, 1 << 25).actions(position)
    best = ValueBounds.best(answers.values())
    assert f"With best play: {best} for player 1" in driver.page.locator(".exactly").inner_text()
    driver.wait_for("/exact/.test(document.querySelector('#bar').textContent)")
    words = {position.action_to_text(action): str(answer) for action, answer in answers.items()}
    shown = _exact_table(driver)
    assert len(shown) == 8
    assert shown.items() <= words.items()
    assert next(iter(shown.values())) == str(best)
    marks = driver.page.locator("#board .layers text").all_text_contents()
    signs = {1: "+", 0: "=", -1: "\u2212"}
    expected = [f"{signs[a.outcome]}{abs(a.lead)}" if a.outcome else "=" for a in answers.values()]
    assert sorted(marks) == sorted(expected)
    driver.page.locator("#tab-details").click()
    driver.page.locator("#analysis-seconds").select_option("0")
    driver.page.locator("#analysis-board").uncheck()
    assert driver.page.locator("#board .layers text").count() == 0


def test_a_review_tells_exactly_what_was_thrown_away(driver: PageDriver) -> None:
    _, link = _late()
    driver.open(link)
    driver.page.locator("#tab-analysis").click()
    driver.page.locator("#tab-details").click()
    driver.page.locator("#analysis-size").select_option("50")
    driver.page.locator("#review").click()
    driver.page.wait_for_selector("#review:enabled", timeout=60_000)
    assert "it was won, then lost (exact)" in driver.page.locator(".review ol").inner_text()
    again = driver.page.get_by_role("button", name=re.compile("^Try move"))
    again.first.click()
    assert driver.message.startswith("Find a better move than ")
    bad = driver.message.split()[-1].rstrip(".")
    place = driver.label
    driver.page.get_by_text("Legal moves").click()
    legal = driver.page.locator(".legal")
    legal.get_by_role("button", name=bad, exact=True).click()
    driver.wait_for("document.querySelector('#message').textContent.includes('no better')")
    assert driver.label == place
    better = driver.page.locator(".review li").first.inner_text().split("better was ")[1].split()[0]
    legal.get_by_role("button", name=better, exact=True).click()
    driver.wait_for("document.querySelector('#message').textContent.includes('Well found')")
    judged = driver.page.locator(".move").all_text_contents()
    assert any(text.endswith("??") for text in judged)
    driver.page.reload()
    driver.page.wait_for_selector(".move", state="attached")
    assert driver.page.locator(".move").all_text_contents() == judged


def test_missing_exact_values_are_told_and_the_rest_goes_on(driver: PageDriver) -> None:
    driver.page.route("**/exact/**", lambda route: route.fulfill(status=404))
    driver.open(_late()[1])
    driver.page.locator("#tab-analysis").click()
    driver.page.locator("#tab-details").click()
    driver.page.locator("#analysis-size").select_option("50")
    driver.page.locator("#analysis-on").check()
    driver.page.wait_for_selector("#message:not([hidden])")
    assert "exact/corso" in driver.message
    driver.wait_for("/; 50 simulations/.test(document.querySelector('.best caption')?.textContent)")


def test_threats_and_owners_are_those_of_python(driver: PageDriver) -> None:
    position, link = _late()
    driver.open(link)
    driver.page.locator("#tab-analysis").click()
    driver.page.locator("#layer-threats").check()
    threats = position.threats()
    expected = int((threats.cells > 0).sum() + (threats.actions == -1).sum())
    assert driver.page.locator("#board .layers > g").count() == expected == 5
    driver.page.locator("#layer-ownership").check()
    owners = position.ownership()
    squares = driver.page.locator("#board .under > g:has(rect)").count()
    diamonds = driver.page.locator("#board .under > g:has(path)").count()
    assert (squares, diamonds) == (int((owners >= 0.05).sum()), int((owners <= -0.05).sum()))
    assert "random games" in driver.page.locator(".legend").inner_text()


def test_missing_game_is_told_and_others_can_be_played(driver: PageDriver) -> None:
    driver.page.route("**/games/corso-*.wasm", lambda route: route.fulfill(status=404))
    driver.open()
    dialog = driver.choose(game="Corso")
    dialog.get_by_role("button", name="Play", exact=True).click()
    driver.page.wait_for_selector("dialog .told:has-text('rules of the game')")
    driver.page.unroute("**/games/corso-*.wasm")
    driver.new_game(opponent="random")
    driver.play()


def test_a_game_that_was_played_is_there_without_a_connection(keeping: PageDriver) -> None:
    driver = keeping
    driver.open(CORSO)
    driver.wait_for(
        """caches.keys().then(async ([name]) => {
            const kept = name ? await (await caches.open(name)).keys() : [];
            return kept.some(({ url }) => url.endsWith(".network"));
        })"""
    )
    driver.context.set_offline(True)
    driver.open(CORSO)
    driver.new_game(opponent="level")
    driver.play()
    driver.wait_for("document.querySelectorAll('.move').length > 1")
    driver.open("#g=osiron&o=osiron")
    assert "is there a connection?" in driver.message


def test_a_host_that_forbids_keeping_gets_no_worker(keeping: PageDriver) -> None:
    def forbid(route: Any) -> None:
        answer = route.fetch()
        headers = {**answer.headers, "cache-control": "no-store"}
        route.fulfill(response=answer, headers=headers)

    asked: list[str] = []
    told: list[str] = []
    page = keeping.page
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: told.append(message.text))
    page.route("**/games/index.json", forbid)
    keeping.open(CORSO)
    keeping.play()
    assert (
        page.evaluate("navigator.serviceWorker.getRegistrations().then((all) => all.length)") == 0
    )
    assert not [address for address in asked if address.endswith("sw.js")]
    assert told == []


def test_an_adapting_level_learns_from_a_game(driver: PageDriver) -> None:
    driver.open("#g=corso&o=corso&opponent=level:auto&seat=0")
    first = driver.page.locator("#player1").inner_text()
    assert re.search(r"Level \d+, adapting", first)
    driver.play()
    driver.wait_for("document.querySelectorAll('.move').length === 2")
    driver.page.get_by_role("button", name="Resign").click()
    driver.page.get_by_role("dialog").get_by_role("button", name="Resign").click()
    driver.new_game(opponent="auto")
    second = driver.page.locator("#player1").inner_text()
    assert int(re.findall(r"Level (\d+)", second)[0]) < int(re.findall(r"Level (\d+)", first)[0])
