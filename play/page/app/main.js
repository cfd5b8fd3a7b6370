/** The page: brings its parts together. */

import { learnResult, suitingLevel } from "./adapting.js";
import { Analyst, judgeAgain, LEAST_LOSS, lossesOf } from "./analyst.js";
import { BoardView } from "./board.js";
import { address, Catalog, checkBrowser, hasClock, load } from "./catalog.js";
import { Clock } from "./clock.js";
import { positionField } from "./diagram.js";
import { confirmed, gamesDialog, shareDialog } from "./dialogs.js";
import { button, byId, el, icon, recall, remember } from "./dom.js";
import { showEnding } from "./ending.js";
import { ExactValues } from "./exact.js";
import { forgetGame, holdGame, keepGame, keptGame, keptGames, letGoOfGame } from "./games.js";
import { Hand } from "./hand.js";
import { discsOf, exactMarks, namesOn, ownerMarks, threatMarks } from "./layers.js";
import { GUIDE, Lesson } from "./lesson.js";
import { LegalMoves, PlayedMoves } from "./moves.js";
import { capital, playerName, PositionText, resultText, rowsInWords, showPlayer, sitter, taskText, turnText } from "./panels.js";
import {
  headersOf,
  linkIn,
  lossOf,
  playersOf,
  playRecord,
  readText,
  recordOf,
  recordText,
} from "./records.js";
import { fits, PERSON, seatName } from "./seats.js";
import { nextPuzzle, Puzzles, puzzlesDialog } from "./puzzles.js";
import { Session } from "./session.js";
import { offerAgain, readChoice, setupDialog } from "./setup.js";
import { AddressBar, playMoves, readFragment, writeFragment } from "./share.js";
import { Table } from "./table.js";
import { setUpTabs } from "./tabs.js";
import { setUpTheme } from "./theme.js";
import { Thread } from "./thread.js";
import { Throttle } from "./throttle.js";

const ICONS = {
  start: "M6 5v14M18 5l-8 7 8 7",
  back: "M15 5l-8 7 8 7",
  forward: "M9 5l8 7-8 7",
  end: "M18 5v14M6 5l8 7-8 7",
};
const MOST_BUTTONS = 12; // most buttons for actions without a place on the board
const TALL = 0.8; // a board whose width is a smaller share of its height is tall
const LOW_WINDOW = matchMedia("(max-height: 560px) and (min-width: 520px)");
const WIDE_WINDOW = matchMedia("(min-width: 861px)");
const KEEPING_PAUSE = 1000; // ms between two saves of the game
const HINT_SIMULATIONS = 200;

const thinker = new Thread("worker.js", "The agent's thread"); // for agents, hints and analyses
const session = new Session(thinker, {
  changed: showAll,
  thinking: showPlayers,
  played: sayMove,
  ended: learn,
  failed: complain,
});
const exact = new ExactValues();
const analyst = new Analyst(thinker, exact, session, {
  found: showFindings,
  failed: (text) => {
    complain(text);
    showClock();
  },
});
const boardView = new BoardView(byId("board"), {
  play,
  aim: say,
  miss: tellIllegal,
  ask: (text) => complain(`${capital(text)}: tap again to play it.`, { isFault: false }),
});
const addressBar = new AddressBar();
const keeping = new Throttle(keep, KEEPING_PAUSE);
const hand = new Hand(byId("hand"), boardView, { play, say });
boardView.setHand(hand);
const lesson = new Lesson(byId("lesson"), session, { say, done: askNew, again: (game) => teach(game) });
const puzzles = new Puzzles(byId("puzzle"), session, {
  say,
  tell: (text) => complain(text, { isFault: false }),
  mark: (action) => boardView.hint(action),
  next: (game, band, after) => solve(game, { band, after }).catch(({ message }) => complain(message)),
  changed: showAll,
});
const legalMoves = new LegalMoves(document.querySelector(".side"), play);
const positionText = new PositionText(document.querySelector(".side"));
const playedMoves = new PlayedMoves(byId("panel-moves"), {
  look,
  promote: () => {
    session.view.promote();
    showAll();
  },
});
const onAnalysis = {
  turn: (isOn) => {
    analyst.setOn(isOn);
    showClock();
    showFindings();
  },
  onBoard: (isOn) => {
    shown.onBoard = isOn;
    showFindings();
  },
  discs: (kind) => showLayer("discs", kind),
  threats: (isOn) => showLayer("threats", isOn),
  ownership: (isOn) => showLayer("ownership", isOn),
  size: (simulations) => analyst.setSimulations(simulations),
  seconds: (seconds) => {
    analyst.setSeconds(seconds);
    showFindings();
  },
  play,
  look,
  review: async () => {
    const review = analyst.review();
    showClock();
    showFindings();
    await review;
    showClock();
    session.isKept = session.mayBeKept; // with the judgements
    keeping.ask();
    if (shown.tab === "moves") showPlayed();
  },
  stopReview: () => analyst.stopReview(),
  tryAgain,
};
const clock = new Clock(byId("clock"), { runOut: (action) => session.moveOn(action), say });
const shown = {
  tab: "moves",
  onBoard: true,
  discs: "chances",
  threats: false,
  ownership: false,
  legend: "", // text about the layers on the board
  rules: null,
  loading: false,
  retried: null, // the move for which a better one is sought
  moments: new Set(), // the moves of kept games for which a better one was sought, see `retry`
  hint: null, // the node for which a hint is sought
  unkept: null, // the game of which it was said that it is not kept
  message: "", // what the page has to say just now
  newer: false, // whether the page has a newer version, which was not put off
};
let catalog = null;
let analysis = null; // the analysis's view, and `showBar` of its module, once it is loaded
let selectTab = null;

/** Announce a text to screen readers. */
function say(text) {
  byId("live").textContent = text;
}

/** Show a message until the next move; after it, or without one, that of a newer version. */
function complain(text, { isFault = true } = {}) {
  const message = byId("message");
  const told = text || (shown.newer ? "There is a newer version of this page." : "");
  shown.message = text;
  message.hidden = told === "";
  message.classList.toggle("fault", isFault && text !== "");
  if (told === message.firstElementChild.textContent) return;
  message.replaceChildren(
    el("span", {}, told),
    text || !shown.newer ? "" : button("Update now", updatePage),
    button("×", dismiss, { label: "Close this message" }),
  );
  if (told) say(told);
}

/** Close the message; return whether there was one. */
function dismiss() {
  if (byId("message").hidden) return false;
  if (shown.message === "") shown.newer = false;
  complain("");
  return true;
}

/** Let the newer version take over, in all windows of this page; games go on. */
const updatePage = () => navigator.serviceWorker.controller?.postMessage({ type: "update" });

/** The page's name for a player; the rules count players from 0. */
const asPeopleCount = (_, number) => `player ${Number(number) + 1}`;

/** Answer a click that is not a legal move now. */
function tellIllegal(action) {
  const { view, table } = session;
  const { names } = table.engine.manifest.description.actions;
  const what = action === null ? "This" : `“${names[action]}”`;
  const mover = playerName(session, view.mover);
  const why =
    action === null
      ? `${mover} has ${taskText(session)}`
      : table.at(view).reason(action, table.scene.reasons).replace(/player_([01])/g, asPeopleCount);
  complain(`${what} is not a legal move now: ${why}.`, { isFault: false });
}

function sayMove(node) {
  complain("");
  const mover = playerName(session, node.parent.mover);
  const isLate = node.action === session.table.scene.clock?.action;
  const what = isLate ? `time is up, ${node.text}` : node.text;
  const [before, shownNow] = [node.parent, node].map((each) => session.table.at(each).view().shown);
  const changes = rowsInWords(session.table.scene, shownNow, before).join(" ");
  say(`${node.ply}. ${mover}: ${what}. ${changes} ${node === session.view ? standing() : ""}`);
}

/** Let an opponent that adapts learn from the result of a game from the start. */
function learn() {
  const { id, board, fromStart, seats, person, winner } = session;
  const level = person === null ? null : seats[1 - person];
  if (!level?.adapts || !fromStart) return;
  const points = winner === null ? 0.5 : Number(winner === person);
  learnResult(board.variant, id, board.levels[level.level - 1].elo, points);
}

function play(action) {
  if (!session.mayPlay) return;
  if (puzzles.isAsking) {
    if (!puzzles.takes(action)) return;
    session.play(action);
    puzzles.praise();
    showAll();
    return;
  }
  if (!lesson.isOn) {
    const { view } = session;
    session.play(action);
    if (view === shown.retried?.parent) compare(session.view);
    return;
  }
  const { wanted } = lesson;
  if (action === wanted) {
    session.play(action);
    lesson.explain();
    showAll();
  } else {
    const what = wanted === null ? "go to the end of the moves" : session.table.text(session.view, wanted);
    complain(`The guided game asks for another move: ${what}.`, { isFault: false });
  }
}

/** Begin another game like the one that has ended, with these seats. */
function playAgain(seats) {
  const { game, variant, table } = session.board;
  const { diagram, position } = table;
  return start({ game, variant, diagram, position, seats }).catch(({ message }) => complain(message));
}

/** Go back to before a move that a review found bad, for another. */
function tryAgain(node) {
  shown.retried = node;
  if (analyst.isOn) onAnalysis.turn(false); // it would tell the move
  look(node.parent);
  complain(`Find a better move than ${node.text}.`, { isFault: false });
  byId("board").scrollIntoView({ block: "nearest" });
}

/** Tell whether a move is no mistake; if it is, go back to before it, for another. */
async function compare(node) {
  const bad = shown.retried;
  const tell = (text) => complain(text, { isFault: false });
  tell(`Looking at ${node.text}…`);
  const loss = await analyst.weigh(node).catch(() => undefined);
  if (session.view !== node || shown.retried !== bad || loss === undefined) return;
  if (loss < LEAST_LOSS) {
    shown.retried = null;
    const found = `Well found: ${node.text} is better than ${bad.text}.`;
    tell(node === bad ? `A longer look finds no fault in ${node.text}.` : found);
    return;
  }
  look(node.parent);
  const isBetter = node !== bad && loss < bad.loss - LEAST_LOSS;
  tell(`${capital(node.text)} is ${isBetter ? "better, but there is one better still" : "no better"}. Try another.`);
}

/** Look for the mistakes of the game, in the analysis. */
async function review() {
  selectTab("analysis");
  await showAnalysis();
  byId("panel-analysis").scrollIntoView({ block: "nearest" });
  await onAnalysis.review();
  document.querySelector("#panel-analysis .review")?.scrollIntoView({ block: "nearest" });
}

function look(node) {
  session.look(node);
  say(placeText());
}

/** Do something that changes the position on view, and announce what it is then. */
function goTo(work) {
  work();
  say(placeText());
}

// Showing.

function showAll() {
  layOut();
  const { view, table } = session;
  boardView.setScene(table.scene);
  const legal = table.legal(view);
  const playable = session.mayPlay ? legal : [];
  const { game, variant } = session.board;
  const isOneOfSeveral = catalog.plainVariants(game).length > 1;
  const told = isOneOfSeveral ? variant.title : hasClock(variant) ? variant.clock.name : "";
  byId("playing").textContent = [game.title, told].filter(Boolean).join(" · ");
  showPlayers();
  showOffBoard(playable);
  legalMoves.show(playable);
  positionText.show(session);
  document.title = `${turnText(session)} · ${game.title} · ludarium`;
  byId("icon").href = address(game.lesson?.picture ?? "icon.svg");
  byId("note").textContent = game.lesson?.marks ? "" : table.scene.note;
  const { ends, handling } = table.scene;
  const there = ends ? "you can move there; between two pieces, they can change places" : handling ? "you can choose that block" : "you can move there";
  byId("flip").hidden = handling !== null; // towers stand upright
  byId("marks").textContent = `Small circle: ${there}. ${game.lesson?.marks ?? ""}`;
  showControls();
  showPlayed();
  analyst.update();
  showClock();
  showBoard(legal);
  showEvaluation();
  if (lesson.wanted !== null) showWanted(lesson.wanted);
  if (!lesson.isOn) showEnding(byId("ending"), session, { play: playAgain, review: analyst.isThere ? review : null });
  addressBar.show(fragment());
  keeping.ask();
}

/** Mark what a guided game asks for; if the window is narrow and the board tall, scroll to it. */
function showWanted(action) {
  boardView.hint(action);
  if (WIDE_WINDOW.matches || !session.table.scene.handling) return;
  document.querySelector("#board .hint").scrollIntoView({ block: "center" });
}

/** The address of what is on view. */
const fragment = () => [lesson, puzzles].find(({ isOn }) => isOn)?.fragment ?? writeFragment(session);

function showPlayed() {
  playedMoves.show(session);
}

/** Keep the game in this browser, and its name in this window. */
function keep() {
  const { id, board, seats, studying, fromStart, live, view } = session;
  remember("current", { id, fragment: fragment() }, "sessionStorage");
  if (!session.isKept || lesson.isOn || puzzles.isOn) return;
  try {
    keepGame(id, {
      variant: board.variant.id,
      seats,
      studying,
      fromStart,
      live: live.actions,
      view: view.actions,
      losses: lossesOf(board.table.root),
      moments: momentsOf(session).length,
      record: recordOf(session),
    });
    shown.unkept = null;
  } catch (error) {
    if (shown.unkept === id) return;
    shown.unkept = id;
    complain(`The last changes of this game are not kept: ${error.message}.`);
  }
}

/** Put the panels of the board beside it if there is more room than below. */
function layOut() {
  session.table.arrange(WIDE_WINDOW.matches || LOW_WINDOW.matches);
  const [, , width, height] = session.table.scene.box;
  const isTall = width < TALL * height;
  const isBeside = LOW_WINDOW.matches || (WIDE_WINDOW.matches && isTall);
  const styles = { beside: isBeside, wide: width > 1.5 * height, taught: lesson.isOn || puzzles.isOn };
  for (const [name, isOn] of Object.entries(styles)) {
    document.querySelector(".table").classList.toggle(name, isOn);
  }
}

function showClock() {
  clock.update(session, analyst.isOn || analyst.isReviewing);
}

function showPlayers() {
  [0, 1].forEach((player) => showPlayer(byId(`player${player}`), session, player, shown.loading));
}

function showLayer(name, setting) {
  shown[name] = setting;
  showFindings();
}

/** The layers on the board, and their meaning in words. */
function layersOf(view, legal) {
  const { table } = session;
  const { scene } = table;
  const under = namesOn(scene, [0, 1].map((player) => sitter(session, player)));
  const layers = [];
  const legend = [];
  if (shown.ownership && scene.has_owners) {
    under.push(...ownerMarks(scene, table.ownership(view)));
    legend.push("Squares: player 1 will own this, diamonds: player 2; the larger, the more of 200 random games.");
  }
  if (shown.threats && !view.isOver) {
    const threats = table.threats(view);
    layers.push(...threatMarks(scene, threats));
    legend.push(
      "Stars win at once, crosses may be taken at once: round by player 1, diamonds by player 2" +
        (threats.coversOpponent ? ", if it were their turn." : ". Nobody can pass here."),
    );
  }
  if (analyst.isOn && shown.onBoard) layers.push(...exactMarks(scene, view, legal));
  return { under, layers, legend: legend.join(" ") };
}

function showBoard(legal) {
  const { view: node, table, mayPlay } = session;
  const picture = table.at(node).view().shown;
  const { under, layers, legend } = layersOf(node, legal);
  shown.legend = legend;
  const discs = analyst.isOn && shown.onBoard ? discsOf(table.scene, node, shown.discs) : [];
  hand.show({ table, node, shown: picture, legal, mayPlay });
  const label = boardLabel(); // tells of the piece in hand, if there is one at this node
  boardView.show({ node, shown: picture, legal, mayPlay, discs, under, layers, label });
}

/** The result, or whose turn it is. */
function standing() {
  const mover = capital(playerName(session, session.view.mover));
  return resultText(session) || `${mover}, ${taskText(session)}.`;
}

/** Which position is on view. */
function placeText() {
  const { view } = session;
  return `${view.parent ? `After ${view.ply}. ${view.text}` : "The start"}. ${standing()}`;
}

function boardLabel() {
  const keys = session.mayPlay ? ` ${boardKeys()}` : "";
  return `Board of ${session.board.game.title}. ${placeText()}${keys}`;
}

/** The effects of keys on the board. */
function boardKeys() {
  if (!hand.isHolding) return "The arrow keys point at a legal move, Enter plays it.";
  const { piece } = session.table.scene.handling;
  return `The arrow keys move the ${piece} in hand, R turns and F flips it, Enter places it, Escape puts it back.`;
}

/** Update the parts that change during an analysis. */
function showFindings() {
  const { view, table } = session;
  showBoard(table.legal(view));
  showEvaluation();
  if (shown.tab !== "moves" && !analyst.isReviewing) showPlayed();
}

function showEvaluation() {
  analysis?.showBar(byId("bar"), session, analyst.isOn && analyst.isThere);
  analysis?.view.show(session, shown.legend);
}

/** Legal actions without a place on the board are buttons. */
function showOffBoard(legal) {
  const { spots, clock: kept } = session.table.scene;
  const isOff = ({ action }) =>
    spots[action] === null && (session.isStudy || action !== kept?.action); // the clock plays that one
  const off = legal.filter(isOff).slice(0, MOST_BUTTONS);
  byId("off-board").replaceChildren(
    ...off.map(({ action, text }) => button(capital(text), () => play(action))),
  );
}

function showControls() {
  const { view } = session;
  const to = (label, symbol, node) =>
    button(icon(ICONS[symbol]), () => look(node), {
      label,
      disabled: node === view || node === undefined,
    });
  const resign = () =>
    confirmed("Resign this game?", "Resign", () => {
      session.resign();
      say(resultText(session));
    });
  const { agent } = session;
  const watches = session.hasAgents && !session.isStudy;
  byId("controls").hidden = lesson.isOn || puzzles.isAsking;
  const controls = [
    to("To the start", "start", session.table.root),
    to("Back", "back", view.parent ?? view),
    to("Forward", "forward", view.children[0]),
    to("To the end", "end", view.end),
    button("Take back", () => goTo(() => session.takeBack()), { disabled: session.takeBackTo === null }),
    button("Redo", () => goTo(() => session.redo()), { disabled: !session.mayRedo }),
    session.board.variant.network
      ? button("Hint", hint, { disabled: !session.mayPlay || shown.hint !== null })
      : "",
    button("Resign", resign, { disabled: !session.mayResign }),
    watches && (session.paused || session.person === null)
      ? button(session.paused ? "Go on" : "Pause", () => session.setPaused(!session.paused))
      : "",
    view !== session.live && !session.studying && agent === null
      ? button("To the game", () => look(session.live))
      : "",
  ];
  const label = document.activeElement?.closest("#controls")
    ? document.activeElement.ariaLabel
    : null;
  byId("controls").replaceChildren(...controls.filter(Boolean));
  if (label) byId("controls").querySelector(`[aria-label="${label}"]:enabled`)?.focus();
}

/** Show the move that the network finds in a search of `HINT_SIMULATIONS` simulations. */
async function hint() {
  const { view: node, table } = session;
  shown.hint = node;
  showControls();
  try {
    const settings = { simulations: HINT_SIMULATIONS };
    const found = await thinker.run({ type: "search", ...table.way(node), settings });
    if (found && session.view === node) {
      boardView.hint(found.action);
      complain(`Hint: ${table.text(node, found.action)}`, { isFault: false });
    }
  } catch (error) {
    complain(`There is no hint: ${error.message}`);
  } finally {
    shown.hint = null;
    showControls();
  }
}

async function showRules() {
  const game = session.board?.game;
  if (!game || shown.tab !== "rules" || shown.rules === game) return;
  shown.rules = game;
  const panel = byId("panel-rules");
  try {
    const text = await (await load(game.rules, "The rules' text")).text();
    if (shown.rules !== game) return;
    panel.innerHTML = text;
    if (catalog.teaches(game)) {
      panel.prepend(button("A guided first game", () => teach(game).catch(({ message }) => complain(message))));
    }
    const credit = document.createElement("p");
    credit.className = "credit";
    credit.textContent = `${game.title}: ${game.credit}. ludarium ${catalog.version}.`;
    panel.append(credit);
  } catch (error) {
    shown.rules = null;
    panel.textContent = error.message;
  }
}

/** Show the analysis, whose module is loaded when its tab is first selected. */
async function showAnalysis() {
  if (shown.tab !== "analysis" || analysis !== null) return;
  try {
    const { AnalysisView, showBar } = await import("./analysis-view.js");
    if (analysis !== null) return;
    const view = new AnalysisView(byId("panel-analysis"), analyst, onAnalysis);
    analysis = { view, showBar };
    if (session.board) showEvaluation();
  } catch {
    complain("The analysis could not be loaded: is there a connection?");
  }
}

// Beginning.

/** A board of a variant, at its start or at the position of a text. */
async function setUp({ game, variant, seed = 0, diagram = null, position = null }) {
  const [{ engine, scene }, levels] = await Promise.all([
    catalog.board(variant),
    catalog.levels(variant),
  ]);
  const table = new Table(engine, scene, seed, diagram, position);
  return { game, variant, table, levels };
}

function begin(board, state, { isFirst = false } = {}) {
  complain("");
  lesson.stop();
  puzzles.stop();
  keeping.flush();
  analyst.stopReview();
  if (session.board?.variant !== board.variant) {
    const network = board.variant.network && address(board.variant.network);
    thinker.open({ module: board.table.engine.module, network }, (loading) => {
      shown.loading = loading;
      showPlayers();
    });
    exact.open(board.variant);
  }
  session.begin(board, state);
  holdGame(session.id);
  showRules();
  if (!isFirst) keepFiles();
}

function randomSeed(engine) {
  return engine.manifest.random_start ? Math.floor(Math.random() * 2 ** 32) : 0;
}

async function start({ game, variant, diagram, position, seats, goOn }) {
  if (goOn) {
    begin(session.board, { seats, node: session.view });
  } else {
    const { engine } = await catalog.board(variant);
    const seed = randomSeed(engine);
    begin(await setUp({ game, variant, diagram, position, seed }), { seats });
  }
  const names = seats.map((seat) => seatName(seat, session.board.levels));
  say(`A new game of ${game.title}: ${names[0]} against ${names[1]}.`);
}

/**
 * Begin the guided game of a game, at a step.
 * @throws {Error} the page has none, it has no such step, or a file of it is missing.
 */
async function teach(game, number = 0) {
  const found = await catalog.lesson(game);
  if (!found || number >= found.steps.length) throw new Error(`${game.title} has no such guided game here.`);
  const board = await setUp({ game, variant: found.variant });
  lesson.begin(game, found.steps, number, board.table, (node) =>
    begin(board, { seats: [PERSON, GUIDE], node, isKept: false }),
  );
  showAll();
}

/**
 * Ask for the move of a puzzle: the one with an id, or the next one of a band.
 * @throws {Error} there is none, or a file of it is missing.
 */
async function solve(game, { id = null, band, after }) {
  const found = await catalog.puzzles(game);
  const puzzle = id ? found?.all.find((each) => each.id === id) : found && nextPuzzle(found.all, game, band, after);
  if (!puzzle) throw new Error(`${game.title} has no such puzzle here.`);
  const { moves, seed } = puzzle;
  const board = await setUp({ game, variant: found.variant, seed });
  if (analyst.isOn) onAnalysis.turn(false); // it would tell the move
  const node = playMoves(board.table, moves, moves.length);
  begin(board, { seats: [PERSON, PERSON], node, studying: true });
  puzzles.begin(game, puzzle);
  showAll();
}

/**
 * The moves with which a person has lost something in a game that is over, or anybody in one that is
 * studied, the worst first.
 */
function momentsOf({ isStudy, seats, studying, table }) {
  const isOne = ({ parent, loss }) =>
    parent && loss >= LEAST_LOSS && (studying || seats[parent.mover].kind === "person");
  return isStudy ? table.root.all.filter(isOne).sort((a, b) => b.loss - a.loss) : [];
}

/** Ask for another move in place of a kept game's worst one: of those not asked about yet, if there are any. */
async function retry(id) {
  await resume(id);
  const moments = momentsOf(session);
  const name = (node) => `${id} ${node.actions}`;
  const next = moments.find((node) => !shown.moments.has(name(node))) ?? moments[0];
  if (!next) return; // kept by a page that counted moments otherwise: only the game is shown
  shown.moments.add(name(next));
  tryAgain(next);
}

function askPuzzles() {
  keeping.flush();
  const there = catalog.games.filter((game) => catalog.hasPuzzles(game));
  const own = keptGames()
    .filter(({ record, moments }) => catalog.game(record.game) && moments > 0)
    .map(({ id, record, moments }) => ({ id, title: catalog.game(record.game).title, moments }));
  const name = session.board?.game.name ?? there[0]?.name;
  puzzlesDialog(there, name, own, { start: (game, band) => solve(game, { band }), retry });
}

function askNew() {
  const chosen = readChoice(recall("choice"));
  if (session.board && !lesson.isOn) offerAgain(chosen, session);
  chosen.game = session.board?.game.name ?? chosen.game;
  if (session.board) {
    const { game, variant } = session.board;
    chosen.variant = (catalog.withClock(game, variant, false) ?? variant).id;
    if (variant.clock) chosen.clock = hasClock(variant);
    chosen.diagram = session.table.diagram ?? chosen.diagram;
  }
  const isLater = session.board && (session.view.ply > 0 || session.table.position);
  const canGoOn = isLater && !session.view.isOver;
  const dialog = setupDialog(
    catalog,
    chosen,
    { goOn: canGoOn ? session.board.variant.id : null },
    {
      teach,
      start: async (choice) => {
        await start(choice);
        remember("choice", chosen);
      },
    },
  );
  dialog.addEventListener("close", () => session.board || showFirst().catch(({ message }) => complain(message)));
}

/** Show the board of the first game, for somebody who has chosen none. */
async function showFirst() {
  const [game] = catalog.games;
  const board = await setUp({ game, variant: game.variants[0] });
  if (!session.board) begin(board, { seats: [PERSON, PERSON] }, { isFirst: true });
}

/** The players, if an address names an opponent; null otherwise. */
function askedSeats({ opponent, seat }, board) {
  if (opponent === null) return null;
  if (opponent.level > board.levels.length) {
    throw new Error(
      `The link asks for level ${opponent.level}; there are ${board.levels.length} here.`,
    );
  }
  const level = opponent.adapts ? { level: suitingLevel(board.variant, board.levels) } : {};
  return [0, 1].map((player) => (player === seat ? PERSON : { ...opponent, ...level }));
}

/**
 * Show the game of a link; return whether it names one.
 * @throws {Error} a sentence for the page.
 */
async function openLink(fragment) {
  const asked = readFragment(fragment, catalog);
  if (asked === null) return false;
  if (asked.learn !== null) {
    await teach(asked.game, asked.learn);
    return true;
  }
  if (asked.puzzle !== null) {
    await solve(asked.game, { id: asked.puzzle });
    return true;
  }
  const board = await setUp(asked);
  const node = playMoves(board.table, asked.moves, asked.ply);
  const seats = askedSeats(asked, board);
  begin(board, { seats: seats ?? [PERSON, PERSON], node, studying: seats === null });
  return true;
}

/** Go to the target of an address; a malformed one only gives a message. */
async function follow(fragment) {
  addressBar.leave();
  try {
    return await openLink(fragment);
  } catch (error) {
    complain(error.message.replace(/[^.]$/, "$&."));
    return false;
  }
}

async function readGame(text) {
  const link = linkIn(text);
  if (link) {
    await openLink(link);
    return;
  }
  const { game, variant, diagram, record } = readText(text, catalog, session.board);
  const { seed, position } = record;
  const board = await setUp({ game, variant, diagram, seed, position });
  playRecord(board.table, record);
  const node = board.table.root.end;
  const seats = [PERSON, PERSON];
  const headers = headersOf(record);
  begin(board, { seats, node, studying: true, ...lossOf(record, node), headers, isKept: true });
}

/**
 * Continue a game that was kept.
 * @throws {Error} it cannot be read, the page has no such board, or it has other rules.
 */
async function resume(id) {
  const kept = keptGame(id);
  if (kept === null) throw new Error("This game is not kept here.");
  const { record, variant, seats, studying, fromStart } = kept;
  const found = catalog.findKept(record, variant);
  if (found === null) throw new Error(`The page has no ${record.game} with these options.`);
  const { seed, position } = record;
  const board = await setUp({ ...found, seed, position });
  playRecord(board.table, record);
  judgeAgain(board.table.root, kept.losses);
  const node = board.table.follow(kept.live);
  const view = board.table.follow(kept.view);
  const mayPlay = seats.every((seat) => fits(seat, board));
  const own = await holdGame(id);
  begin(board, {
    ...{ id: own, node, view, seats: mayPlay ? seats : [PERSON, PERSON] },
    ...{ studying: studying || !mayPlay, ...lossOf(record, board.table.root.end) },
    ...{ headers: headersOf(record), isKept: true, fromStart },
  });
  if (own !== id) {
    complain("Another window has this game: here a copy goes on.", { isFault: false });
  }
}

/** Continue the game that this window showed before a reload or at the same address, if any. */
async function resumeCurrent(fragment) {
  const [loading] = performance.getEntriesByType("navigation");
  const current = recall("current", "sessionStorage");
  // At a reload the address may be some plies behind.
  const isIt = current && (loading?.type === "reload" || current.fragment === fragment);
  if (fragment === "" || !isIt || !keptGame(current.id)) return false;
  try {
    await resume(current.id);
    return true;
  } catch {
    return false; // the moves come from the address
  }
}

function askGames() {
  keeping.flush();
  const games = keptGames()
    .filter(({ record }) => record.moves.length && catalog.game(record.game))
    .map(({ id, record, seats, studying, saved }) => ({
      ...{ id, saved, title: catalog.game(record.game).title, plies: record.moves.length },
      ...{ result: record.result, isOpen: id === session.id },
      players: playersOf(record) ?? (studying ? [] : seats.map((seat) => seatName(seat, []))),
    }));
  const isSafe = navigator.storage?.persist?.().catch(() => false) ?? false;
  gamesDialog(games, { open: resume, remove: forgetGame, isSafe });
}

/** Begin at a position of the game on the board: the players go on, or it is studied. */
async function setUpPosition(position, state) {
  const { game, variant, table } = session.board;
  const board = await setUp({ game, variant, diagram: table.diagram, position: position.trim() });
  begin(board, state);
  if (!state.studying) return;
  selectTab("analysis");
  if (!analyst.isOn) onAnalysis.turn(true);
}

function share() {
  const { text } = session.table.at(session.view);
  shareDialog({
    position: text && {
      ...positionField(session.table, text),
      play: (position) => setUpPosition(position, { seats: session.seats.map((seat) => (seat === GUIDE ? PERSON : seat)) }),
      analyse: (position) => setUpPosition(position, { seats: [PERSON, PERSON], studying: true }),
    },
    address: new URL(fragment(), location.href).href,
    record: () => recordText(session),
    file: `${session.board.variant.id}.json`,
    load: readGame,
  });
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]"))
    return;
  if (event.target.closest?.("input, select, textarea, [role=tablist]")) return;
  if (hand.key(event) || (event.key === "Escape" && dismiss())) {
    event.preventDefault();
    return;
  }
  if (lesson.isOn) return;
  const { view } = session;
  const nodes = {
    ArrowLeft: view.parent,
    ArrowRight: view.children[0],
    Home: session.table.root,
    End: view.end,
  };
  const node = nodes[event.key];
  if (!node) return;
  look(node);
  event.preventDefault();
}

/**
 * Show the game of this window or of the address, or else the setup dialog; if the address is wrong,
 * the board of the first game with a message.
 */
async function openFirst() {
  complain("");
  if (await resumeCurrent(location.hash)) return;
  if (await follow(location.hash)) return;
  const problem = shown.message;
  if (!problem) {
    askNew();
    return;
  }
  await showFirst();
  complain(problem);
}

function listen() {
  for (const window of [LOW_WINDOW, WIDE_WINDOW]) {
    window.addEventListener("change", () => session.board && showAll());
  }
  byId("new").addEventListener("click", askNew);
  byId("puzzles").addEventListener("click", askPuzzles);
  byId("flip").addEventListener("click", () => session.board && boardView.flip());
  byId("games").addEventListener("click", () => session.board && askGames());
  byId("share").addEventListener("click", () => session.board && share());
  window.addEventListener("pagehide", () => {
    keeping.flush();
    addressBar.flush();
    letGoOfGame();
  });
  window.addEventListener("pageshow", async ({ persisted }) => {
    if (persisted && session.board) session.id = await holdGame(session.id);
  });
  window.addEventListener("hashchange", () => follow(location.hash));
  document.addEventListener("keydown", (event) => session.board && key(event));
  selectTab = setUpTabs(byId("tabs"), { moves: "Moves", analysis: "Analysis", rules: "Rules" }, (name) => {
    shown.tab = name;
    showRules().then(() => name === "rules" && byId("panel-rules").scrollIntoView({ block: "nearest" }));
    showAnalysis();
  });
}

/** Let the browser keep the files of the game that was begun, for when there is no connection. */
function keepFiles() {
  if (!catalog.isKept) return;
  const { game, variant } = session.board;
  navigator.serviceWorker?.ready.then(({ active }) =>
    active.postMessage({ files: [...catalog.filesOf(game, variant), ...exact.files] }),
  );
}

function keepOffline() {
  // Without a service worker the page works, but only online.
  if (!catalog.isKept) return;
  navigator.serviceWorker?.register(address("sw.js")).catch(() => {});
  navigator.serviceWorker?.addEventListener("message", ({ data }) => {
    if (data === "reload") location.reload();
    else shown.newer = true;
    if (byId("message").hidden) complain("");
  });
}

async function main() {
  setUpTheme(byId("theme"));
  try {
    checkBrowser();
    catalog = await Catalog.load();
    byId("puzzles").hidden = !catalog.games.some((game) => catalog.hasPuzzles(game));
    listen();
    await openFirst();
    keepOffline();
  } catch (error) {
    complain(error.message);
  }
}

main();
