/** Colours and sizes of marks on the board, as in envs/engine/draw/layers.py. */

export const DARK = "#14161a";
export const LIGHT = "#fff6d8";
export const SMALL_TEXT = 22;
const WIDE = 0.55; // width of a letter, as a share of the text's size
const HEAT = [
  [255, 246, 200],
  [248, 182, 92],
  [205, 82, 60],
  [92, 16, 66],
];

const FOR_AND_AGAINST = [
  [158, 71, 8],
  [240, 170, 96],
  [246, 244, 238],
  [122, 176, 226],
  [13, 72, 145],
];

/** The colour for a share of the largest, from 0 to 1, and the colour of a text on it. */
export const heat = (share) => colours(HEAT, share);

/** Colours for a value, from -1 (bad, orange) to 1 (good, blue), and for a text on it. */
export const forAndAgainst = (value) => colours(FOR_AND_AGAINST, (value + 1) / 2);

function colours(scale, at) {
  const place = Math.min(Math.max(at, 0), 1) * (scale.length - 1);
  const step = Math.min(Math.floor(place), scale.length - 2);
  const [red, green, blue] = scale[step].map((part, channel) =>
    Math.floor(part + (place - step) * (scale[step + 1][channel] - part)),
  );
  const ink = 0.3 * red + 0.59 * green + 0.11 * blue > 130 ? DARK : LIGHT;
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
export function discRadius(spots) {
  const apart = leastDistance(spots);
  return apart === Infinity ? 30 : Math.min(Math.max(0.46 * apart, 8), 44);
}

/** The size at which a text fits into a disc. */
export function fittedSize(text, radius) {
  const size = Math.min(SMALL_TEXT, 1.5 * radius);
  return Math.min(size, (1.8 * radius) / (WIDE * Math.max(text.length, 1)));
}
