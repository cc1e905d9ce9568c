/**
 * Shows one of several panels: tabs({label, tabs: [{id, title, build: () => node}], selected, onselect: (id) => …}).
 * Panels are built when they are first shown. Left and Right, Home and End move between tabs.
 */
import { freshId, h, replace } from "../lib/dom.js";

const KEYS = { ArrowRight: 1, ArrowLeft: -1 };

export function tabs({ label, tabs: list, selected = list[0]?.id, onselect }) {
  const prefix = freshId("tab");
  const built = new Map();
  const panel = h("div", { class: "tab-panel", role: "tabpanel", id: `${prefix}-panel`, tabindex: "0" });
  const buttons = list.map(({ id, title }, index) =>
    h(
      "button",
      {
        class: "tab",
        type: "button",
        role: "tab",
        id: `${prefix}-${index}`,
        "aria-controls": panel.id,
        onclick: () => select(id),
        onkeydown: (event) => move(event, index),
      },
      title,
    ),
  );
  const element = h("div", { class: "tabs" }, h("div", { class: "tab-list", role: "tablist", "aria-label": label }, buttons), panel);
  element.select = select;
  show(selected);
  return element;

  function select(id) {
    show(id);
    onselect?.(id);
  }

  function show(id) {
    const at = Math.max(0, list.findIndex((one) => one.id === id));
    buttons.forEach((button, index) => {
      button.setAttribute("aria-selected", String(index === at));
      button.tabIndex = index === at ? 0 : -1;
    });
    if (!built.has(at)) built.set(at, list[at].build());
    panel.setAttribute("aria-labelledby", buttons[at].id);
    replace(panel, built.get(at));
  }

  function move(event, index) {
    let next = index + (KEYS[event.key] ?? 0);
    if (event.key === "Home") next = 0;
    if (event.key === "End") next = list.length - 1;
    if (next === index) return;
    event.preventDefault();
    next = (next + list.length) % list.length;
    buttons[next].focus();
    select(list[next].id);
  }
}
