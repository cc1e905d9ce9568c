/**
 * Shows thousands of rows in a table: only those in sight are elements. Where there is little room rows are cards.
 *
 *   const table = dataTable({label: "Pods", columns, rows, rowKey: (row) => row.key, onopen: (row) => …, height: "24rem",
 *                            sort: "name", descending: false, none: "No pods"});
 *   table.rows = […]            new rows: scroll position, order and focus stay
 *   table.groupOf = (row) => "zone-a"     a line above the rows of each group, with its name and their number; null: none
 *
 * `most: 10` instead of `height` makes it as high as its rows, up to ten of them; with `keeps`, as high as the most it ever had.
 * A column is {id, title, cell: (row) => node or string, by: (row) => value to sort by, width: "8rem", end: true}.
 * With `onopen`, rows are opened by click and Enter; Up, Down, Page, Home and End move between them.
 */
import { h, perFrame, replace } from "../lib/dom.js";
import { natural, number } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { card, cardHeight, NARROW, sorting } from "./table/cards.js";

const ROW = 32;
/** A heading above cards has as many lines as it needs, of about this many letters each. */
const LETTERS = 40;
const LINE = 20;
const BEYOND = 8;
/** Paper does not scroll: up to this many rows are printed. */
const PRINTED = 2000;
const PAPER = matchMedia("print");
/** Cards are higher than rows: fewer of them make a table as high as its rows. */
const MOST_CARDS = 6;

export class DataTable extends HTMLElement {
  #columns = [];
  #rows = [];
  #groupOf = null;
  /** Rows in their order, with a {heading, count} before each group. */
  #items = [];
  #tops = new Float64Array(1);
  #at = 0;
  /** The row that Tab goes to: the one where the focus was, or, where that is out of sight, the first one in sight. */
  #stop = 0;
  #first = -1;
  #last = -1;
  #cards = false;
  #highest = 1;
  #table;
  #body;
  #bar;
  #scroller;
  #draw = perFrame(() => this.#paint());
  #observer = new ResizeObserver(() => this.#resized());
  #printed = () => this.#paint();

  constructor() {
    super();
    this.rowKey = (row) => row;
    this.onopen = null;
    this.sort = "";
    this.descending = false;
    this.none = "Nothing to show";
    this.most = 0;
    this.keeps = false;
    this.#body = h("tbody", {});
  }

  connectedCallback() {
    if (!this.#scroller) this.#build();
    this.#observer.observe(this);
    PAPER.addEventListener("change", this.#printed);
    this.#resized();
  }

  disconnectedCallback() {
    this.#observer.disconnect();
    PAPER.removeEventListener("change", this.#printed);
    this.#draw.cancel();
  }

  set columns(columns) {
    this.#columns = columns;
    if (!this.#table) return;
    this.#head();
    this.#measure();
  }

  set rows(rows) {
    this.#rows = rows;
    this.#order();
  }

  get rows() {
    return this.#rows;
  }

  set groupOf(groupOf) {
    this.#groupOf = groupOf;
  }

  #build() {
    this.#table = h("table", { class: "data-table", "aria-label": this.label, onkeydown: (event) => this.#key(event) });
    this.#bar = h("div", { class: "card-sort", hidden: true });
    this.#scroller = h(
      "div",
      { class: "data-scroll", tabindex: this.onopen ? "-1" : "0", role: "region", "aria-label": this.label, onscroll: () => this.#draw(), style: { height: this.height ?? "24rem" } },
      this.#table,
    );
    this.append(this.#bar, this.#scroller);
    this.#head();
    this.#measure();
  }

  #resized() {
    const narrow = this.clientWidth > 0 && this.clientWidth < NARROW;
    if (narrow !== this.#cards) {
      this.#cards = narrow;
      this.#head();
      this.#measure();
    }
    this.#draw();
  }

  get #rowHeight() {
    return this.#cards ? cardHeight(this.#columns) : ROW;
  }

  #headingHeight(heading) {
    return this.#cards ? ROW + LINE * (Math.ceil(heading.length / LETTERS) - 1) : ROW;
  }

  /** Says where each item begins, and how high the table is where that follows from its rows. */
  #measure() {
    const row = this.#rowHeight;
    this.#tops = new Float64Array(this.#items.length + 1);
    // One row has no order.
    if (this.#bar) this.#bar.hidden = !this.#cards || this.#rows.length < 2 || !this.#columns.some((column) => column.by);
    this.#items.forEach((item, at) => (this.#tops[at + 1] = this.#tops[at] + (item.heading === undefined ? row : this.#headingHeight(item.heading))));
    this.#first = -1;
    if (this.most && this.#scroller) {
      const most = this.#cards ? Math.min(this.most, MOST_CARDS) : this.most;
      if (this.keeps) this.#highest = Math.max(this.#highest, this.#rows.length);
      const rows = Math.max(1, Math.min(most, this.keeps ? this.#highest : this.#rows.length));
      this.#scroller.style.setProperty("height", `${this.#cards ? rows * row + 2 : (rows + 1) * (ROW + 1) + 1}px`);
    }
    this.#draw();
  }

  #head() {
    this.classList.toggle("cards", this.#cards);
    replace(this.#bar, this.#cards ? sorting(this.#columns, this.sort, this.descending, (id, descending) => this.#sorted(id, descending)) : null);
    const cells = this.#columns.map((column) => {
      const sorted = this.sort === column.id;
      const order = sorted ? (this.descending ? "descending" : "ascending") : null;
      const title = column.by
        ? h(
            "button",
            { class: "sort", type: "button", onclick: () => this.#sortBy(column) },
            column.title,
            h("span", { class: ["sort-mark", sorted && this.descending ? "descending" : ""] }, sorted ? icon("down", { size: 12 }) : null),
          )
        : column.title;
      return h("th", { scope: "col", class: column.end ? "end" : "", "aria-sort": order }, title);
    });
    const widths = this.#columns.map((column) => h("col", { style: column.width ? { width: column.width } : {} }));
    // Cards have the title of a column beside each value, and say themselves that they are rows: styles take that away.
    if (this.#cards) {
      this.#table.setAttribute("role", "table");
      this.#body.setAttribute("role", "rowgroup");
      replace(this.#table, this.#body);
    } else {
      this.#table.removeAttribute("role");
      this.#body.removeAttribute("role");
      replace(this.#table, h("colgroup", {}, widths), h("thead", {}, h("tr", { "aria-rowindex": 1 }, cells)), this.#body);
    }
    this.#first = -1;
  }

  #sortBy(column) {
    this.#sorted(column.id, this.sort === column.id ? !this.descending : false);
    this.#table.querySelectorAll(".sort")[this.#columns.filter((one) => one.by).indexOf(column)]?.focus();
  }

  #sorted(id, descending) {
    this.sort = id;
    this.descending = descending;
    this.#head();
    this.#order();
  }

  #order() {
    const column = this.#columns.find((one) => one.id === this.sort && one.by);
    const current = this.#items[this.#at];
    const key = current && current.heading === undefined ? this.rowKey(current) : undefined;
    let rows = this.#rows;
    if (column) {
      const sign = this.descending ? -1 : 1;
      const keyed = rows.map((row) => [column.by(row), row]);
      keyed.sort(([a], [b]) => sign * (typeof a === "number" && typeof b === "number" ? a - b : natural(String(a), String(b))));
      rows = keyed.map(([, row]) => row);
    }
    this.#items = this.#groupOf ? grouped(rows, this.#groupOf) : rows;
    const at = key === undefined ? -1 : this.#items.findIndex((row) => row.heading === undefined && this.rowKey(row) === key);
    this.#at = at >= 0 ? at : this.#nextRow(Math.min(this.#at, Math.max(0, this.#items.length - 1)), 1);
    this.#measure();
  }

  #paint() {
    if (!this.#scroller) return;
    const total = this.#items.length;
    const height = this.#scroller.clientHeight || ROW * 10;
    const { scrollTop } = this.#scroller;
    const first = PAPER.matches ? 0 : Math.max(0, this.#itemAt(scrollTop) - BEYOND);
    const last = Math.min(total, PAPER.matches ? PRINTED : this.#itemAt(scrollTop + height) + 1 + BEYOND);
    if (first === this.#first && last === this.#last) return;
    const focused = this.#body.contains(document.activeElement) && document.activeElement.matches("tr");
    this.#first = first;
    this.#last = last;
    this.#stop = this.#at >= first && this.#at < last ? this.#at : this.#nextRow(this.#itemAt(scrollTop), 1);
    this.#table.setAttribute("aria-rowcount", String(total + 1));
    const rows = [];
    for (let index = first; index < last; index += 1) rows.push(this.#row(index));
    if (!total) rows.push(h("tr", {}, h("td", { colspan: this.#columns.length, class: "muted" }, this.none)));
    replace(this.#body, spacer(this.#tops[first]), rows, spacer(this.#tops[total] - this.#tops[last]));
    if (focused) this.#body.querySelector(`tr[data-index="${this.#at}"]`)?.focus({ preventScroll: true });
  }

  /** The item at a height. */
  #itemAt(top) {
    let low = 0;
    let high = Math.max(0, this.#items.length - 1);
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.#tops[middle] <= top) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #row(index) {
    const row = this.#items[index];
    const place = { "aria-rowindex": index + 2, dataset: { index } };
    if (row.heading !== undefined) {
      const text = [h("span", { class: this.#cards ? "wrap" : "cut", title: row.heading }, row.heading), h("span", { class: "muted nums" }, number(row.count))];
      const style = { height: `${this.#headingHeight(row.heading)}px` };
      const role = this.#cards ? { row: { role: "row", style }, cell: { role: "rowheader", style } } : { row: {}, cell: { scope: "colgroup", colspan: this.#columns.length } };
      return h("tr", { ...place, class: "data-group", ...role.row }, h("th", role.cell, h("span", { class: "data-group-line" }, text)));
    }
    const open = this.onopen ? { tabindex: index === this.#stop ? "0" : "-1", class: "opens", onclick: () => this.#open(index), onfocus: () => (this.#at = index) } : {};
    if (this.#cards) return card(this.#columns, row, { ...place, ...open }, this.#rowHeight);
    const cells = this.#columns.map((column, at) => {
      const content = column.cell(row);
      const title = typeof content === "string" ? content : null;
      return h(at === 0 ? "th" : "td", { class: ["cut", column.end ? "end nums" : ""], scope: at === 0 ? "row" : null, title }, content);
    });
    return h("tr", { ...place, ...open }, cells);
  }

  #open(index) {
    this.#at = index;
    this.onopen(this.#items[index]);
  }

  /** The first item from an index on, forwards or backwards, that is a row; the last one before it where there is none. */
  #nextRow(index, step) {
    const isRow = (at) => this.#items[at]?.heading === undefined;
    let at = index;
    while (at >= 0 && at < this.#items.length && !isRow(at)) at += step;
    if (at >= 0 && at < this.#items.length) return at;
    at = index;
    while (at >= 0 && at < this.#items.length && !isRow(at)) at -= step;
    return Math.max(0, at);
  }

  #key(event) {
    if (!this.onopen || !event.target.matches?.("tr")) return;
    const page = Math.max(1, Math.floor(this.#scroller.clientHeight / this.#rowHeight) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.#open(this.#at);
    } else if (event.key in steps) {
      event.preventDefault();
      const step = steps[event.key];
      const wanted = Math.max(0, Math.min(this.#items.length - 1, this.#at + step));
      this.#at = this.#nextRow(wanted, step > 0 ? 1 : -1);
      this.#show(this.#at);
    }
  }

  #show(index) {
    const top = this.#tops[index];
    const height = this.#scroller.clientHeight - (this.#cards ? this.#rowHeight : ROW * 2);
    if (top < this.#scroller.scrollTop) this.#scroller.scrollTop = top;
    else if (top > this.#scroller.scrollTop + height) this.#scroller.scrollTop = top - height;
    this.#first = -1;
    this.#paint();
    this.#body.querySelector(`tr[data-index="${index}"]`)?.focus({ preventScroll: true });
  }
}

/** Puts a {heading, count} before the rows of each group, groups in natural order. */
function grouped(rows, groupOf) {
  const groups = new Map();
  for (const row of rows) {
    const name = groupOf(row);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(row);
  }
  const names = [...groups.keys()].sort(natural);
  return names.flatMap((heading) => [{ heading, count: groups.get(heading).length }, ...groups.get(heading)]);
}

function spacer(pixels) {
  return pixels > 0 ? h("tr", { "aria-hidden": "true", class: "spacer" }, h("td", { style: { height: `${pixels}px` } })) : null;
}

customElements.define("moorage-table", DataTable);

export function dataTable({ columns, rows = [], ...options }) {
  const element = document.createElement("moorage-table");
  Object.assign(element, options);
  element.columns = columns;
  element.rows = rows;
  return element;
}
