/**
 * Shows a row of a table as a card, for screens that are too narrow for columns: its first column is the title, the others
 * are pairs of a title and a value. All cards of a table have the same height, so that thousands of them can be scrolled.
 */
import { freshId, h } from "../../lib/dom.js";
import { icon } from "../../lib/icons.js";

/** Narrower tables than this are cards. */
export const NARROW = 600;
const LINE = 26;
const TITLE = 28;
const PADDING = 18;
/** Columns from this width on have a line of their own. */
const WIDE = 11;

/** Returns how high a card with these columns is, in pixels. */
export function cardHeight(columns) {
  const rest = columns.slice(1);
  const wide = rest.filter(isWide).length;
  return PADDING + TITLE + (wide + Math.ceil((rest.length - wide) / 2)) * LINE;
}

export function card(columns, row, properties, height) {
  const cells = columns.map((column, at) => {
    const content = column.cell(row);
    const title = typeof content === "string" ? content : null;
    if (at === 0) return h("th", { role: "rowheader", class: "card-title cut", title }, content);
    return h("td", { role: "cell", class: ["card-fact", isWide(column) ? "wide" : ""], title }, h("span", { class: "card-label" }, column.title), " ", h("span", { class: "card-value cut" }, content));
  });
  // Narrow facts are two to a line: wide ones come after them.
  const rest = cells.slice(1);
  const ordered = [cells[0], ...rest.filter((_, at) => !isWide(columns[at + 1])), ...rest.filter((_, at) => isWide(columns[at + 1]))];
  return h("tr", { ...properties, role: "row", class: ["card", properties.class], style: { height: `${height}px` } }, ordered);
}

/** Chooses the order of cards, which have no heads to press. */
export function sorting(columns, sort, descending, onsort) {
  const id = freshId("sort");
  const options = columns.filter((column) => column.by).map((column) => h("option", { value: column.id, selected: column.id === sort }, column.title));
  const select = h("select", { class: "select", id, onchange: () => onsort(select.value, descending) }, sort ? null : h("option", { value: "" }, "–"), options);
  const words = descending ? "Descending: turn round" : "Ascending: turn round";
  return [
    h("label", { for: id }, "Sort by"),
    select,
    h("button", { class: "icon-button", type: "button", title: words, "aria-label": words, onclick: () => onsort(select.value, !descending) }, h("span", { class: ["sort-mark", descending ? "descending" : ""] }, icon("down", { size: 12 }))),
  ];
}

function isWide({ width = "" }) {
  if (width.endsWith("%")) return true;
  return !width || parseFloat(width) >= WIDE;
}
