/** Tabs: only the panel of the selected tab is shown. */

import { el } from "./dom.js";

/**
 * @param {HTMLElement} list element for the tabs; the panels are `panel-NAME`.
 * @param {Record<string, string>} names the tabs' texts by name; the first tab is selected.
 * @param {(name: string) => void} onShow called at each selection, the first one included.
 * @returns {(name: string) => void} selects a tab.
 */
export function setUpTabs(list, names, onShow) {
  const tabs = Object.entries(names).map(([name, text]) =>
    el(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${name}`,
        "aria-controls": `panel-${name}`,
        onclick: () => show(name),
      },
      text,
    ),
  );
  const show = (name) => {
    for (const tab of tabs) {
      const isIt = tab.id === `tab-${name}`;
      tab.setAttribute("aria-selected", String(isIt));
      tab.tabIndex = isIt ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !isIt;
    }
    onShow(name);
  };
  list.append(...tabs);
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    next.click();
    next.focus();
    event.preventDefault();
    event.stopPropagation();
  });
  show(Object.keys(names)[0]);
  return show;
}
