/** Colours and sizes of marks on the board, as the look of layers in a scene has them. */

import { el } from "./dom.js";

/** The colour for a share of the largest, from 0 to 1, and the colour of a text on it. */
export const heat = (look, share) => colours(look, look.shares, share);

/** Colours for a value, from -1 (bad, orange) to 1 (good, blue), and for a text on it. */
export const forAndAgainst = (look, value) => colours(look, look.values, (value + 1) / 2);

function colours({ dark, light }, scale, at) {
  const place = Math.min(Math.max(at, 0), 1) * (scale.length - 1);
  const step = Math.min(Math.floor(place), scale.length - 2);
  const [red, green, blue] = scale[step].map((part, channel) =>
    Math.floor(part + (place - step) * (scale[step + 1][channel] - part)),
  );
  const ink = 0.3 * red + 0.59 * green + 0.11 * blue > 130 ? dark : light;
  return { fill: `rgb(${red},${green},${blue})`, ink };
}

/** The least distance between two spots that are not the same, or Infinity. */
export function leastDistance(spots) {
  const there = spots.filter((spot) => spot !== null);
  let least = Infinity;
  there.forEach(([x, y], number) => {
    for (let other = 0; other < number; other += 1) {
      const apart = Math.hypot(x - there[other][0], y - there[other][1]);
      if (apart > 1) least = Math.min(least, apart);
    }
  });
  return least;
}

/** The largest radius, within bounds, at which discs on all spots stay slightly apart. */
export function discRadius({ radius: [share, least, most, alone] }, spots) {
  const apart = leastDistance(spots);
  return apart === Infinity ? alone : Math.min(Math.max(share * apart, least), most);
}

/** The size at which a text fits into a disc. */
export function fittedSize({ text: [most, high, wide, letter] }, text, radius) {
  const size = Math.min(most, high * radius);
  return Math.min(size, (wide * radius) / (letter * Math.max(text.length, 1)));
}

/** A line of text around a place. */
export function textAt([x, y], size, fill, text, more = {}) {
  const about = { x, y: y + 0.36 * size, "text-anchor": "middle" };
  return el("svg:text", { ...about, "font-size": size, fill, ...more }, text);
}
