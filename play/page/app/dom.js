/** Elements of the page, values that the browser keeps, and numbers as text. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element.
 * @param {string} tag "svg:circle" and so on for elements of pictures.
 * @param {object} [attributes] functions under "on..." listen to events; true and false set or
 *   leave out; null and undefined leave out.
 * @param {...(Node | string | null | Array)} children arrays are flattened; null is left out.
 */
export function el(tag, attributes = {}, ...children) {
  const element = tag.startsWith("svg:")
    ? document.createElementNS(SVG, tag.slice(4))
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.flat().filter((child) => child !== null));
  return element;
}

/** A button with a text or a symbol; `label` is its name and tooltip if the text does not say enough. */
export function button(text, onclick, { label, ...attributes } = {}) {
  const more = label === undefined ? {} : { "aria-label": label, title: label };
  return el("button", { type: "button", onclick, ...more, ...attributes }, text);
}

/** A choice among entries, each a value and its text. */
export function selection(attributes, entries, selected, onchange) {
  const field = el(
    "select",
    attributes,
    entries.map(([value, text]) => el("option", { value, selected: value === selected }, text)),
  );
  field.addEventListener("change", () => onchange(field.value));
  return field;
}

let lastName = 0;

/** A labelled group of radio buttons; an entry is its value, its text and perhaps a picture. */
export function radios(legend, entries, value, onchange, style = "pills") {
  const name = `radio${(lastName += 1)}`;
  return el(
    "fieldset",
    { class: style },
    el("legend", {}, legend),
    entries.map(([key, text, picture]) => {
      const input = el("input", { type: "radio", name, value: key, checked: key === value });
      input.addEventListener("change", () => onchange(key));
      const image = picture ? el("img", { src: picture, alt: "", width: 90, height: 90 }) : null;
      return el("label", {}, input, el("span", {}, image, text));
    }),
  );
}

/** An icon drawn with one path in a square of 24. */
export function icon(path) {
  const svg = el("svg:svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" });
  svg.append(el("svg:path", { d: path }));
  return svg;
}

/** The beginning of a text from elsewhere, for a message. */
export const shortened = (text) => (text.length > 40 ? `${text.slice(0, 37)}...` : text);

export const byId = (id) => document.getElementById(id);

/** How names in the store begin; each page of a host has its own, by its folder. */
export const OWN = `ludarium${new URL("../", import.meta.url).pathname.replace(/^\/$/, "")}.`;

/** The value kept in this browser under a name, or null; a page without a store has none. */
export function recall(name, store = "localStorage") {
  try {
    return JSON.parse(window[store].getItem(OWN + name));
  } catch {
    return null;
  }
}

/** Keep a value in this browser; return whether it has room, and allows that. */
export function remember(name, value, store = "localStorage") {
  try {
    window[store].setItem(OWN + name, JSON.stringify(value));
    return true;
  } catch {
    return false; // as in some private windows: then the choice lasts for this visit
  }
}

/** Forget the value under a name. */
export function forget(name, store = "localStorage") {
  try {
    window[store].removeItem(OWN + name);
  } catch {
    // Without a store there is nothing to forget.
  }
}

/** The names that begin with a prefix and have a value. */
export function stored(prefix, store = "localStorage") {
  try {
    const names = Object.keys(window[store]).filter((name) => name.startsWith(OWN + prefix));
    return names.map((name) => name.slice(OWN.length));
  } catch {
    return [];
  }
}

const SIGNED = new Intl.NumberFormat("en", {
  signDisplay: "exceptZero",
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
});

/** A value from -1 to 1 as text, with two decimals, and a sign unless these are 0. */
export const signed = (value) => SIGNED.format(value).replace("-", "−");
