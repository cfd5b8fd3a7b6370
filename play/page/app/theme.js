/** Light or dark: as in the system, or as chosen by a button. */

import { icon, recall, remember } from "./dom.js";

const THEMES = { system: "Theme: as the system", light: "Theme: light", dark: "Theme: dark" };
const ICONS = {
  system: "M12 3a9 9 0 1 0 0 18a9 9 0 1 0 0-18v18M12 7h5M12 12h9M12 17h5",
  light: "M12 8a4 4 0 1 0 0 8a4 4 0 1 0 0-8M12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2",
  dark: "M20 14a8 8 0 1 1-10-10a7 7 0 0 0 10 10z",
};

function apply(control, theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  control.replaceChildren(icon(ICONS[theme]));
  control.title = THEMES[theme];
  control.setAttribute("aria-label", THEMES[theme]);
}

/** Let a button cycle through the themes. */
export function setUpTheme(control) {
  const kept = recall("theme");
  let theme = Object.hasOwn(THEMES, kept) ? kept : "system";
  apply(control, theme);
  control.addEventListener("click", () => {
    const names = Object.keys(THEMES);
    theme = names[(names.indexOf(theme) + 1) % names.length];
    remember("theme", theme);
    apply(control, theme);
  });
}
