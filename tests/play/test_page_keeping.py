"""Nothing that is stored, addressed or fetched stops the page, and no game is lost."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from ludarium.envs import GAMES, make_game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.views import TASK

from .page_driver import DESKTOP, PHONE, PageDriver, open_window

CORSO = "#g=corso&o=corso"
LOW_WINDOWS = {
    "phone on its side": {"width": 740, "height": 360},
    "1280 x 800 at 200 %": {"width": 640, "height": 400},
}


def _press(driver: PageDriver, name: str) -> None:
    driver.press(driver.page.get_by_role("button", name=name, exact=True))


def _load(driver: PageDriver, record: dict[str, Any]) -> None:
    _press(driver, "Share")
    driver.page.get_by_label("Record of a game").fill(json.dumps(record))
    _press(driver, "Load this text")
    driver.page.wait_for_selector("dialog", state="detached")


def _record(**others: Any) -> dict[str, Any]:
    return {
        **{"game": "corso", "version": make_game("corso").version, "options": {"size": 5}},
        **{"moves": ["c3", "b2", "c4"], "result": None, **others},
    }


# What is stored.


def _store(driver: PageDriver, name: str, text: str) -> None:
    """Let the browser have something from an earlier visit."""
    store = f"localStorage['ludarium.{name}'] ??= {json.dumps(text)}"
    driver.page.add_init_script(f"if (location.protocol !== 'about:') {store}")


def _choice(level: Any) -> str:
    opponent = {"kind": "level", "level": level, "amount": 128, "unit": "simulations"}
    return json.dumps({"side": "0", "clock": False, "opponents": [opponent, opponent]})


@pytest.mark.parametrize(
    "stored", ['{"game":"corso","side":"0"}', '"x"', "5", "[]", "{", _choice(3.5), _choice("2")]
)
def test_a_stored_choice_that_is_not_whole_is_no_choice(driver: PageDriver, stored: str) -> None:
    _store(driver, "choice", stored)
    driver.open()
    opponent = driver.choose(game="Corso").get_by_label("Opponent")
    assert opponent.input_value() == "auto"
    driver.new_game(opponent="random")
    driver.play()


@pytest.mark.parametrize("stored", ['"toString"', "{}", "5"])
def test_a_stored_theme_that_there_is_not_is_the_systems(driver: PageDriver, stored: str) -> None:
    _store(driver, "theme", stored)
    driver.open(CORSO)
    assert driver.page.locator("#theme").get_attribute("title") == "Theme: as the system"


@pytest.mark.parametrize("stored", ["5", "null", "{}", '{"format": 1, "record": {}}', "{"])
def test_a_kept_game_that_cannot_be_read_is_left_out(driver: PageDriver, stored: str) -> None:
    _store(driver, "game.x", stored)
    driver.open(CORSO)
    driver.play()
    _press(driver, "Games")
    assert driver.page.locator(".games li").count() == 1


# The address.


def _long_game() -> list[int]:
    """The actions of a game of Osiron, 150 plies or more."""
    game = make_game("osiron", repetition=0)
    for seed in range(100):
        position, lot = game.start(), np.random.default_rng(seed)
        actions: list[int] = []
        while not position.is_over:
            actions.append(int(lot.choice(position.legal_actions)))
            position.play(actions[-1])
        if len(actions) >= 150:
            return actions[:150]
    raise AssertionError("no random game is so long")


def test_a_held_arrow_key_leaves_board_moves_and_address_at_one_ply(driver: PageDriver) -> None:
    """Safari allows 100 changes of the address within 30 s."""
    driver.page.add_init_script(
        """let left = 100;
        const change = history.replaceState.bind(history);
        history.replaceState = (...given) => {
            if ((left -= 1) < 0) throw new DOMException("too many", "SecurityError");
            change(...given);
        };"""
    )
    driver.open(f"#g=osiron&o=osiron&m={'.'.join(map(str, _long_game()))}")
    for _ in range(140):
        driver.page.keyboard.press("ArrowLeft")
    assert driver.page.locator(".move.here .number").inner_text() == "10"
    assert "After 10." in driver.label
    driver.wait_for("location.hash.endsWith('&p=10')")


# Games that are kept.


def test_a_loaded_record_keeps_its_headers_and_its_end(driver: PageDriver) -> None:
    record = _record(
        result=[1, -1], players=["Ada", "Grace"], date="2019-05-04", event={"round": 3}
    )
    driver.open(CORSO)
    _load(driver, record)
    again = json.loads(driver.record)
    assert {key: again[key] for key in record} == record
    panels = driver.page.locator(".players").inner_text()
    assert all(text in panels for text in ("Ada", "Grace", "has resigned", "has won"))
    assert driver.targets == 0  # the game is over


@pytest.mark.parametrize(
    ("players", "names"),
    [("Ada", ""), ([{"toString": None}, "Grace"], "Player 1 against Grace, ")],
)
def test_what_is_no_name_of_a_player_is_not_shown(
    driver: PageDriver, players: object, names: str
) -> None:
    driver.open(CORSO)
    _load(driver, _record(players=players))
    assert "Player 1" in driver.page.locator(".players").inner_text()
    _press(driver, "Games")
    told = driver.page.locator(".games .game .faint").inner_text()
    assert told.startswith(f"{names}3 moves, not over, ")


def test_a_reload_keeps_variations_comments_and_players(driver: PageDriver) -> None:
    record = _record(
        notes={"2": "too near"}, variations={"2": [{"moves": ["d4", "a1"]}]}, players=["Ada", "Bo"]
    )
    driver.open(CORSO)
    _load(driver, record)
    driver.wait_for("sessionStorage['ludarium.current'] !== undefined")
    driver.page.reload()
    driver.page.wait_for_selector(".variation")
    again = json.loads(driver.record)
    assert {key: again[key] for key in record} == record


def test_a_new_game_loses_no_game_and_a_closed_tab_neither(driver: PageDriver) -> None:
    driver.open()
    driver.new_game(opponent="random", game="Corso")
    driver.play()
    driver.wait_for("document.querySelectorAll('.move').length === 2")
    moves = driver.moves
    driver.new_game(opponent="person", game="Obsidio")
    driver.page.close()
    driver.page = driver.context.new_page()
    driver.open(CORSO)
    _press(driver, "Games")
    (game,) = driver.page.locator(".games li").all()
    assert "Corso" in game.inner_text()
    assert "2 moves, not over" in game.inner_text()
    game.get_by_role("button", name="Open").click()
    driver.page.wait_for_selector("dialog", state="detached")
    assert driver.moves == moves
    assert "Random mover" in driver.page.locator("#player1").inner_text()
    driver.play()  # it goes on: the random mover answers
    driver.wait_for("document.querySelectorAll('.move').length === 4")


@pytest.mark.parametrize("moves", ["", "&m=12.6"], ids=["from the start", "from a position"])
def test_an_adapting_level_learns_from_a_game_that_was_reloaded(
    driver: PageDriver, moves: str
) -> None:
    driver.open(f"{CORSO}{moves}&seat=0&opponent=level:auto")
    plies = len(driver.moves)
    driver.play()
    driver.wait_for(f"document.querySelectorAll('.move').length === {plies + 2}")
    driver.page.reload()
    driver.wait_for(f"document.querySelectorAll('.move').length === {plies + 2}")
    _press(driver, "Resign")
    driver.page.locator("dialog").get_by_role("button", name="Resign", exact=True).click()
    results = json.loads(driver.page.evaluate("localStorage['ludarium.results.corso'] ?? '[]'"))
    assert [result["points"] for result in results] == ([] if moves else [0])


def _nested(position: Position, depth: int) -> dict[str, Any]:
    """A line of two moves, with a variation of the second, in which there is one, and so on."""
    action = int(position.legal_actions[1])
    first = position.action_to_text(action)
    position.play(action)
    second = position.action_to_text(int(position.legal_actions[0]))
    line: dict[str, Any] = {"moves": [first, second]}
    if depth:
        line["variations"] = {str(position.ply + 1): [_nested(position, depth - 1)]}
    return line


def test_a_game_with_more_variations_than_a_record_has_stays_as_it_was(driver: PageDriver) -> None:
    driver.open(CORSO)
    _load(driver, _record(**_nested(make_game("corso").start(), 8)))
    driver.wait_for("Object.values(localStorage).some((text) => text.includes('variations'))")
    driver.page.locator(".variation").last.locator(".move").first.click()
    driver.play(1)
    driver.page.wait_for_selector("#message:not([hidden])")
    assert driver.message.startswith("The last changes of this game are not kept: ")
    assert driver.page.locator(".variation").count() == 9
    driver.page.reload()
    driver.page.wait_for_selector(".variation")
    assert driver.page.locator(".variation").count() == 8


def test_a_removed_game_is_gone(driver: PageDriver) -> None:
    driver.open(CORSO)
    driver.play()
    driver.wait_for("Object.keys(localStorage).some((key) => key.startsWith('ludarium.game.'))")
    driver.page.goto("about:blank")
    driver.open(f"{CORSO}&m=12")
    _press(driver, "Games")
    _press(driver, "Remove this game of Corso")
    assert driver.page.locator(".games li").count() == 0
    assert driver.page.evaluate("Object.keys(localStorage).length") == 0


#: As in a browser that is so busy that no lock is there in time.
LATE_LOCKS = """
    const locks = globalThis.LockManager?.prototype ?? {}; // an empty page has none
    const { request } = locks;
    locks.request = function (name, ...rest) {
        if (rest[0].signal) return Promise.reject(new Error("late"));
        return request.call(this, name, ...rest);
    };
"""


@pytest.mark.parametrize("is_late", [False, True])
def test_two_windows_on_one_game_lose_nothing_of_each_other(
    driver: PageDriver, is_late: bool
) -> None:
    if is_late:
        driver.page.add_init_script(LATE_LOCKS)
    driver.open()
    driver.new_game(opponent="person", game="Corso")
    driver.play()
    current = "JSON.parse(sessionStorage['ludarium.current']).id"
    moved = """?.includes('"moves":["') ?? false"""
    driver.wait_for(f"localStorage[`ludarium.game.${{{current}}}`]{moved}")
    game = driver.page.evaluate(current)
    first, driver.page = driver.page, driver.context.new_page()
    driver.open(f"{CORSO}&m=0")
    _press(driver, "Games")
    driver.page.locator(".games").get_by_role("button", name="Open").click()
    driver.page.wait_for_selector("dialog", state="detached")
    assert "a copy goes on" in driver.message
    moves = driver.moves
    driver.play(1)
    driver.page.reload()  # which has its own game again
    driver.page.wait_for_selector(".move >> nth=1")
    copies = {driver.page.evaluate(current), driver.moves[1]}
    driver.page = first
    driver.play(5)
    assert driver.page.evaluate(current) == game
    assert driver.moves[0] == moves[0]
    assert not {game, driver.moves[1]} & copies


def test_a_browser_without_room_is_told_of_once(driver: PageDriver) -> None:
    driver.page.add_init_script(
        "Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError'); }"
    )
    driver.open(CORSO)
    driver.play()
    driver.page.wait_for_selector("#message:not([hidden])")
    assert driver.message == (
        "The last changes of this game are not kept: this browser has no room for it, or keeps "
        "nothing."
    )
    driver.page.keyboard.press("Escape")
    driver.play()
    driver.page.wait_for_timeout(1500)
    assert driver.page.locator("#message").is_hidden()


def test_the_list_of_games_tells_who_has_won(driver: PageDriver) -> None:
    driver.open(CORSO)
    _load(driver, _record(result=[1, -1], players=["Ada", "Grace"]))
    driver.wait_for("Object.values(localStorage).some((text) => text.includes('Ada'))")
    _press(driver, "Games")
    told = driver.page.locator(".games").inner_text()
    assert "Ada against Grace, 3 moves, Ada has won, " in told
    driver.wait_for("/save what you want to keep|until you remove/.test(document.body.innerText)")


# What is left.


def _phases(name: str) -> list[str]:
    """Links to a position of a game for each task that a mover can have in it."""
    game, links = make_game(name), {}
    for seed in range(4):
        position, lot = game.start(), np.random.default_rng(seed)
        actions: list[str] = []
        while not position.is_over and len(actions) < 40:
            task = game.tasks[position.facts()[TASK]].split(", not")[0]
            links.setdefault(task, f"#g={name}&o={name}&m={'.'.join(actions)}")
            actions.append(str(lot.choice(position.legal_actions)))
            position.play(int(actions[-1]))
    return list(links.values())


@pytest.mark.parametrize("name", GAMES)
def test_a_game_is_left_in_each_phase(driver: PageDriver, name: str) -> None:
    """By a link, a new game, a record, and a game that was kept; each shows the other board."""
    other = "corso" if name != "corso" else "obelisk"
    start = f"#g={other}&o={other}"
    driver.open(f"{start}&m={make_game(other).start().legal_actions[0]}")
    driver.play()  # which keeps that game
    begun = driver.label

    def follow() -> None:
        driver.page.evaluate("start => (location.hash = start)", start)

    def begin() -> None:
        driver.new_game(opponent="person", game=GAMES[other].title)

    def load() -> None:
        game = make_game(other)
        record = {"game": other, "version": game.version, "options": game.options, "moves": []}
        _load(driver, record | {"result": None})

    def resume() -> None:
        _press(driver, "Games")
        games = driver.page.locator(".games li").filter(has_text=GAMES[other].title)
        games.filter(has_text="2 moves").get_by_role("button", name="Open").first.click()

    ways = {follow: None, begin: None, load: None, resume: begun}
    for link in _phases(name):
        for leave, label in ways.items():
            driver.wait_for(f"location.hash !== {json.dumps(link)}")  # it follows a little later
            driver.page.evaluate("link => (location.hash = link)", link)
            driver.wait_for(f"document.querySelector('#playing').textContent.startsWith("
                            f"{json.dumps(GAMES[name].title)})")  # fmt: skip
            driver.page.wait_for_timeout(50)
            assert driver.label.endswith("Escape puts it back.") == driver.holds
            leave()
            driver.wait_for(f"document.querySelector('#playing').textContent.startsWith("
                            f"{json.dumps(GAMES[other].title)})")  # fmt: skip
            driver.page.wait_for_selector("dialog", state="detached")
            assert not driver.holds
            assert driver.targets > 0
            assert driver.label == label or (label is None and "The start." in driver.label)


# What is fetched.


def test_a_first_visit_fetches_no_network_of_a_game_that_is_not_played(
    keeping: PageDriver,
) -> None:
    asked: list[str] = []
    keeping.context.on("request", lambda request: asked.append(request.url))
    keeping.open()
    keeping.wait_for("navigator.serviceWorker.controller !== null")
    keeping.new_game(opponent="person", game="Obelisk")
    kept = "caches.keys().then(async ([name]) => (await (await caches.open(name)).keys()))"
    keeping.wait_for(f"{kept}.then((all) => all.some(({{ url }}) => /networks.obelisk/.test(url)))")
    assert not [url for url in asked if "/networks/corso" in url]


def test_a_failed_fetch_is_tried_again(driver: PageDriver) -> None:
    failed: list[str] = []

    def fail_once(route: Any) -> None:
        if route.request.url in failed:
            route.continue_()
        else:
            failed.append(route.request.url)
            route.abort()

    for files in ("**/games/*", "**/networks/*"):
        driver.page.route(files, fail_once)
    driver.open(CORSO)
    _press(driver, "Hint")
    driver.wait_for("/^Hint: /.test(document.querySelector('#message').textContent)")
    assert len(failed) == 4  # the list of games, module, scene and network


@pytest.mark.parametrize("is_at_once", [False, True], ids=["by reload", "at once"])
def test_open_windows_have_one_version_until_they_get_the_newest(
    keeping: PageDriver, is_at_once: bool
) -> None:
    keeping.open(CORSO)
    keeping.wait_for("navigator.serviceWorker.controller !== null")
    # As if a newer version had been published and loaded.
    keeping.page.evaluate(
        """async () => {
            const [name] = await caches.keys();
            const [used, newer] = [await caches.open(name), await caches.open(`${name}0`)];
            for (const file of await used.keys()) {
                await newer.put(file, await used.match(file));
            }
            await newer.put("worker.js", new Response("newer"));
        }"""
    )
    worker = "fetch('worker.js').then((answer) => answer.text())"
    news = "There is a newer version of this page."
    other = keeping.context.new_page()
    other.goto(keeping.address + CORSO)
    other.wait_for_selector("#board .ground")
    for page in (keeping.page, other):
        assert page.evaluate(worker) != "newer"
        page.wait_for_selector(f"#message:has-text('{news}')")
    keeping.play()
    assert keeping.message == news  # still
    if is_at_once:
        keeping.page.get_by_role("button", name="Update now").click()
        other.wait_for_event("load")
    else:
        keeping.page.close()
        other.reload()  # the only window
    other.wait_for_selector("#board .ground")
    assert other.evaluate(worker) == "newer"


# What a player sees.


@pytest.mark.parametrize("window", LOW_WINDOWS)
@pytest.mark.parametrize("game", ["corso", "osiron", "obelisk"])
def test_a_low_window_shows_all_of_the_board(
    browser: Any, site: str, game: str, window: str
) -> None:
    driver = PageDriver(browser, site, LOW_WINDOWS[window])
    driver.open(f"#g={game}&o={game}")
    box = driver.page.locator("#board").bounding_box()
    assert box is not None
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= LOW_WINDOWS[window]["height"]
    assert box["height"] >= 0.55 * LOW_WINDOWS[window]["height"]
    width = driver.page.evaluate("document.documentElement.scrollWidth")
    assert width == LOW_WINDOWS[window]["width"]
    driver.close()


IN_HAND = "choose%20red-l-upright.choose%20green-t-flat.pick%20green-t-flat"


@pytest.mark.parametrize(("game", "moves"), [*((game, "") for game in GAMES), ("obelisk", IN_HAND)])
def test_the_controls_are_within_a_desktops_window(
    driver: PageDriver, game: str, moves: str
) -> None:
    driver.open(f"#g={game}&o={game}&m={moves}")
    assert driver.holds == bool(moves)
    box = driver.page.locator("#controls").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= DESKTOP["height"]


@pytest.mark.parametrize("width", [861, 1000, 1180, 1280])
def test_names_and_tasks_are_readable_beside_the_board(browser: Any, site: str, width: int) -> None:
    with open_window(browser, site, {"width": width, "height": 800}) as driver:
        driver.open(f"#g=obelisk&o=obelisk&m={IN_HAND}")
        widths = driver.page.locator(".players strong, .players .status, #hand .held").evaluate_all(
            "all => all.filter((each) => each.textContent)"
            ".map((each) => [each.clientWidth, each.scrollWidth])"
        )
        assert len(widths) == 4
        assert all(shown >= max(60, whole) for shown, whole in widths)
        assert driver.page.evaluate("document.documentElement.scrollWidth") == width


def test_what_is_chosen_differs_where_colours_are_forced(driver: PageDriver) -> None:
    driver.page.emulate_media(forced_colors="active")
    driver.open(f"{CORSO}&m=12.6")
    looks = "all => all.map((each) => ['backgroundColor', 'borderTopWidth', 'borderTopColor']"
    looks += ".map((name) => getComputedStyle(each)[name]).join())"
    driver.choose(game="Corso")
    for kind in (".player", ".tabs button", ".move", "fieldset.cards label span"):
        seen = driver.page.locator(kind).evaluate_all(looks)
        assert len(set(seen)) == 2, kind
        assert min(map(seen.count, set(seen))) == 1, kind


def test_a_large_record_is_not_drawn_anew_for_each_key(driver: PageDriver) -> None:
    driver.open(CORSO)
    many = [{"moves": [a, b]} for a in ("a1", "b1", "c1", "d1") for b in ("a5", "b5", "c5", "d5")]
    _load(driver, _record(variations={"2": many}))
    first = driver.page.locator(".variation .move").first.element_handle()
    driver.page.evaluate(
        """() => {
            window.drawn = 0;
            const watcher = new MutationObserver((all) => (drawn += all.length));
            watcher.observe(document.querySelector(".moves"), { childList: true, subtree: true });
        }"""
    )
    for key in ("ArrowLeft", "ArrowLeft", "ArrowRight", "End", "Home"):
        driver.page.keyboard.press(key)
    assert driver.page.evaluate("drawn") == 0
    assert first.evaluate("each => each.isConnected")
    assert driver.page.locator(".move[aria-current]").count() == 0


def test_a_dialog_closes_only_by_a_click_that_begins_and_ends_beside_it(
    driver: PageDriver,
) -> None:
    driver.open(CORSO)
    _press(driver, "Share")
    dialog = driver.page.locator("dialog")
    box, text = dialog.bounding_box(), dialog.locator("textarea").bounding_box()
    assert box is not None
    assert text is not None
    padding = (box["x"] + 4, box["y"] + box["height"] / 2)
    within = (text["x"] + text["width"] / 2, text["y"] + text["height"] / 2)
    beside = (box["x"] / 2, within[1])
    for start, end in [(padding, padding), (within, beside), (beside, padding)]:
        driver.page.mouse.move(*start)
        driver.page.mouse.down()
        driver.page.mouse.move(*end, steps=4)
        driver.page.mouse.up()
        assert dialog.is_visible()
    driver.page.mouse.click(*beside)
    dialog.wait_for(state="detached")


def test_what_was_taken_back_can_be_put_back(driver: PageDriver) -> None:
    """The moves since the last own turn."""
    driver.open()
    driver.new_game(opponent="random", game="Corso")
    for ply in (2, 4):
        driver.wait_for_turn()
        driver.play()
        driver.wait_for(f"document.querySelectorAll('.move').length === {ply}")
    moves = driver.moves
    _press(driver, "Take back")
    assert driver.moves == moves[:2]
    _press(driver, "Redo")
    assert driver.moves == moves
    _press(driver, "Take back")
    driver.play(3)
    assert driver.page.get_by_role("button", name="Redo").is_disabled()


def test_a_choice_between_two_moves_of_one_place_plays_one(driver: PageDriver) -> None:
    """No game here has two such moves at a time, so a picture of Corso is changed."""

    def share_a_place(route: Any) -> None:
        scene = route.fetch().json()
        scene["spots"][13] = scene["spots"][12]
        route.fulfill(json=scene)

    driver.page.route("**/games/corso-*.scene.json", share_a_place)
    driver.open(CORSO)
    driver.press_at(*driver.on_screen(*make_game("corso").action_spots()[12]))
    choice = driver.page.locator("#board .choice button")
    assert choice.all_inner_texts() == ["c3", "d3"]
    choice.last.click()
    assert driver.moves == ["d3"]
    assert driver.page.locator("#message").is_hidden()


def test_a_hint_is_marked_on_the_board_and_is_legal(driver: PageDriver) -> None:
    driver.open("#g=osiron&o=osiron")
    _press(driver, "Hint")
    driver.wait_for("/^Hint: /.test(document.querySelector('#message').textContent)")
    position = make_game("osiron").start()
    text = driver.message.removeprefix("Hint: ")
    assert position.mask[position.text_to_action(text)]
    assert driver.page.locator("#board .hint path").count() > 0
    driver.play()
    assert driver.page.locator("#board .hint path").count() == 0


def test_a_click_on_what_is_not_legal_is_answered(driver: PageDriver) -> None:
    driver.open(f"{CORSO}&m=12")
    game = make_game("corso")
    position = game.start()
    position.play(12)
    driver.press_at(*driver.on_screen(*game.action_spots()[12]))
    reason = position.why_illegal(12)
    assert reason == "the marble on c3 is the opponent's"
    assert driver.message == f"“c3” is not a legal move now: {reason}."
    for close in (
        lambda: driver.page.keyboard.press("Escape"),
        lambda: driver.page.get_by_role("button", name="Close this message").press("Enter"),
        driver.play,
    ):
        driver.press_at(*driver.on_screen(*game.action_spots()[12]))
        assert driver.page.locator("#message").is_visible()
        close()
        assert driver.page.locator("#message").is_hidden()


def test_the_position_and_each_way_to_it_are_told_in_words(driver: PageDriver) -> None:
    driver.open(f"{CORSO}&m=12.6")
    driver.page.get_by_text("The position in words").press("Enter")
    driver.page.wait_for_selector("details li")
    rows = driver.page.locator("details li").all_inner_texts()
    assert rows[3] == "Rank 2: a2 open, b2 dark marble, c2 open, d2 open, e2 open."
    said = driver.page.locator("#live")
    for press, told in {
        "Back": "After 1. c3. Player 2 (dark), to move.",
        "To the start": "The start. Player 1 (light), to move.",
        "To the end": "After 2. b2. Player 1 (light), to move.",
        "Take back": "After 1. c3. Player 2 (dark), to move.",
        "Redo": "After 2. b2. Player 1 (light), to move.",
    }.items():
        _press(driver, press)
        assert said.inner_text() == told
        assert told in driver.label
    assert driver.page.title() == "Turn of player 1 (light) · Corso · ludarium"
    assert driver.page.locator("details li").all_inner_texts() == rows
    driver.press_at(*driver.on_screen(*make_game("corso").action_spots()[7]))
    assert said.inner_text() == (
        "3. player 1 (light): c2. Rank 2: c2 light marble. Player 2 (dark), to move."
    )


@pytest.mark.parametrize(
    ("name", "board"),
    [
        ("corso", "corso"),
        ("obsidio", "obsidio-size=7"),
    ],
)
def test_a_game_is_played_to_its_end_by_keyboard_and_text_alone(
    driver: PageDriver, name: str, board: str
) -> None:
    """Each move is found in the text of the position, and the next one is heard."""
    driver.open(f"#g={name}&o={board}&seat=0&opponent=random")
    for summary in ("Legal moves", "The position in words"):
        driver.page.get_by_text(summary).press("Enter")
    driver.page.wait_for_selector("details li")
    field = driver.page.get_by_label("Search the legal moves")
    heard = driver.page.locator("#live")
    for _ in range(200):
        driver.wait_for_turn()
        if driver.is_over:
            break
        rows = driver.page.locator("details li").all_inner_texts()
        legal = driver.page.locator(".legal button").all_inner_texts()
        places = {move.rstrip("!") for move in legal} - {"done", "swap"}
        assert all(any(f"{place} " in row for row in rows) for place in places)
        moves = len(driver.moves)
        field.fill(legal[0])
        field.press("Enter")
        driver.wait_for(f"document.querySelectorAll('.move').length > {moves}")
    assert re.search("has won|drawn", heard.inner_text())


@pytest.mark.parametrize("text", ["{}", "https://example.org/play/{}"], ids=["short", "whole"])
def test_a_link_is_loaded_where_records_are(driver: PageDriver, text: str) -> None:
    driver.open(CORSO)
    _press(driver, "Share")
    driver.page.get_by_label("Record of a game").fill(text.format(f"{CORSO}&m=12.6"))
    _press(driver, "Load this text")
    driver.page.wait_for_selector("dialog", state="detached")
    assert driver.moves == ["c3", "b2"]
    driver.open("#g=corso&amp;o=corso&amp;m=12")  # as in the source of a page
    assert driver.moves == ["c3"]


def test_a_slow_line_is_told_of_in_the_dialog(driver: PageDriver) -> None:
    driver.open()
    held: list[Any] = []
    driver.page.route("**/games/obelisk*.wasm", lambda route: held.append(route))
    dialog = driver.choose(game="Obelisk")
    dialog.get_by_role("button", name="Play", exact=True).click()
    driver.wait_for("document.querySelector('dialog .told').textContent === 'Loading Obelisk…'")
    assert dialog.get_by_role("button", name="Play", exact=True).is_disabled()
    held[0].continue_()
    dialog.wait_for(state="detached")


@pytest.mark.parametrize("sized", [PHONE], indirect=True, ids=["phone"])
def test_the_rules_call_the_players_as_the_page_does(sized: PageDriver) -> None:
    driver = sized
    driver.open(CORSO)
    driver.press(driver.page.locator("#tab-rules"))
    driver.page.wait_for_selector("#panel-rules p")
    text = driver.page.locator("#panel-rules").inner_text()
    assert "White (player 1) begins" in text
    assert "player_" not in text
