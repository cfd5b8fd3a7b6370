"""Style and script of the page."""

STYLE = """
:root{--paper:#fbfaf7;--ink:#22252a;--faint:#6a6d73;--rule:#dcd8cf;--card:#fff;--inside:#fff;
--c0:#0072b2;--c1:#d55e00;--c2:#008f6b;--c3:#a3559b;--draw:#b9b5aa}
@media (prefers-color-scheme:dark){:root{--paper:#17191d;--ink:#e6e4df;--faint:#a3a5aa;
--rule:#3a3d43;--card:#1f2227;--inside:#0d0f12;--c0:#56b4e9;--c1:#f08a3c;--c2:#2fc79a;--c3:#d99bd0;--draw:#8f8c84}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:50rem;margin:0 auto;padding:1rem}
h1{font-size:1.9rem;margin:.4rem 0 0;line-height:1.2}
h2{font-size:1.25rem;margin:0 0 .6rem}
h3{font-size:1rem;margin:1rem 0 .2rem}
.credit,.note,caption,.axis,figcaption{color:var(--faint);font-size:.875rem}
section{background:var(--card);border:1px solid var(--rule);border-radius:.6rem;
padding:1rem;margin:1rem 0}
.summary{margin:0;padding-left:1.1rem}
.summary li{margin:.3rem 0}
.fixed,small{white-space:nowrap}
small{font-size:.8125rem;color:var(--faint)}
.note{margin-bottom:0}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.875rem;margin-top:.6rem;
font-variant-numeric:tabular-nums}
caption{caption-side:bottom;text-align:left;padding-top:.4rem}
th,td{padding:.3rem .55rem .3rem 0;text-align:left;vertical-align:top;
border-bottom:1px solid var(--rule)}
th[scope=row]{font-weight:600}
thead th{color:var(--faint);font-weight:600}
.chart{display:block;width:100%;max-width:34rem;height:auto;margin:.2rem 0}
.chart text{font-size:12px;fill:var(--faint)}
.chart text.label{fill:var(--ink)}
.chart text.inside{fill:var(--inside);font-weight:600}
.grid{stroke:var(--rule);stroke-width:1}
.mark{stroke:var(--ink);stroke-width:1;stroke-dasharray:3 3}
.line{fill:none;stroke-width:2.2}
.line.s0{stroke:var(--c0)}.line.s1{stroke:var(--c1)}.line.s2{stroke:var(--c2)}.line.s3{stroke:var(--c3)}
.band{opacity:.16}
.band.s0,.dot.s0{fill:var(--c0)}.band.s1,.dot.s1{fill:var(--c1)}
.band.s2,.dot.s2{fill:var(--c2)}.band.s3,.dot.s3{fill:var(--c3)}
.bar.s0{fill:var(--c0)}.bar.s1{fill:var(--draw)}.bar.s2{fill:var(--c1)}
.legend{margin:.2rem 0;font-size:.875rem;display:flex;flex-wrap:wrap;gap:.2rem 1rem}
.axis{margin:.4rem 0 0}
.board{max-width:30rem;margin:.6rem auto}
.board svg{display:block;width:100%;height:auto;border-radius:.4rem}
.scale{text-align:center;font-size:.875rem}
.scale span{padding:.1rem .5rem}
figure{margin:0 0 1.6rem}
.controls{display:flex;gap:.4rem;align-items:center;max-width:30rem;margin:0 auto}
.controls input{flex:1;min-width:0;accent-color:var(--c0)}
.controls button{font:inherit;min-width:2.6rem;padding:.35rem;border:1px solid var(--rule);
border-radius:.4rem;background:var(--paper);color:var(--ink)}
.now{text-align:center;min-height:1.5em;margin:.3rem 0}
.moves{font-size:.875rem;overflow-wrap:anywhere}
@media (max-width:30rem){.chart text{font-size:15px}main{padding:.5rem}section{padding:.8rem}}
.variant>summary{cursor:pointer}
.variant>summary h2{display:inline;font-size:1.4rem}
"""

SCRIPT = """
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
    board.innerHTML = frames[ply].map((line) => lines[line]).join("\\n");
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
"""
