const read = (element) => JSON.parse(element.textContent);
const setUp = (replay, lines) => {
  const data = read(replay.querySelector("script"));
  const frames = [];
  let rows = [];
  for (const edits of data.changes) {
    rows = rows.slice();
    for (const [start, count, added] of edits) rows.splice(start, count, ...added);
    frames.push(rows);
  }
  const slider = replay.querySelector("input");
  const board = replay.querySelector(".board");
  const now = replay.querySelector(".now");
  const show = () => {
    const ply = Number(slider.value);
    board.innerHTML = frames[ply].map((line) => lines[line]).join("\n");
    const chance = Math.round(100 * data.chances[ply]);
    const move = ply ? `${ply}. ${data.moves[ply - 1]}` : "start";
    now.textContent = `${move}: player_0 ${chance} %`;
  };
  slider.addEventListener("input", show);
  for (const button of replay.querySelectorAll("button")) {
    button.addEventListener("click", () => {
      const step = button.dataset.step;
      if (step === "first") slider.value = 0;
      else if (step === "last") slider.value = slider.max;
      else slider.value = Number(slider.value) + Number(step);
      show();
    });
  }
  show();
};
for (const replays of document.querySelectorAll(".replays")) {
  const lines = read(replays.querySelector(".lines"));
  for (const replay of replays.querySelectorAll(".replay")) setUp(replay, lines);
}
