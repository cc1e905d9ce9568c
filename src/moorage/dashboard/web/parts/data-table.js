/**
 * Shows thousands of rows in a table: only those in sight are elements.
 *
 *   const table = dataTable({label: "Pods", columns, rows, rowKey: (row) => row.key, onopen: (row) => …, height: "24rem",
 *                            sort: "name", descending: false, none: "No pods"});
 *   table.rows = […]            new rows: scroll position, order and focus stay
 *
 * `most: 10` instead of `height` makes it as high as its rows, up to ten of them.
 * A column is {id, title, cell: (row) => node or string, by: (row) => value to sort by, width: "8rem", end: true}.
 * With `onopen`, rows are opened by click and Enter; Up, Down, Page, Home and End move between them.
 */
import { h, perFrame, replace } from "../lib/dom.js";
import { natural } from "../lib/format.js";
import { icon } from "../lib/icons.js";

const ROW = 32;
const BEYOND = 8;

export class DataTable extends HTMLElement {
  #columns = [];
  #rows = [];
  #sorted = [];
  #at = 0;
  #first = -1;
  #last = -1;
  #table;
  #body;
  #scroller;
  #draw = perFrame(() => this.#paint());
  #observer = new ResizeObserver(() => this.#draw());

  constructor() {
    super();
    this.rowKey = (row) => row;
    this.onopen = null;
    this.sort = "";
    this.descending = false;
    this.none = "Nothing to show";
    this.most = 0;
    this.#body = h("tbody", {});
  }

  connectedCallback() {
    if (!this.#scroller) this.#build();
    this.#observer.observe(this.#scroller);
    this.#draw();
  }

  disconnectedCallback() {
    this.#observer.disconnect();
    this.#draw.cancel();
  }

  set columns(columns) {
    this.#columns = columns;
    if (this.#table) this.#head();
  }

  set rows(rows) {
    this.#rows = rows;
    this.#order();
    this.#fit();
  }

  get rows() {
    return this.#rows;
  }

  #build() {
    this.#table = h("table", { class: "data-table", "aria-label": this.label, onkeydown: (event) => this.#key(event) });
    this.#scroller = h(
      "div",
      { class: "data-scroll", tabindex: this.onopen ? "-1" : "0", role: "region", "aria-label": this.label, onscroll: () => this.#draw(), style: { height: this.height ?? "24rem" } },
      this.#table,
    );
    this.append(this.#scroller);
    this.#head();
    this.#fit();
  }

  #fit() {
    if (!this.most || !this.#scroller) return;
    const rows = Math.max(1, Math.min(this.most, this.#rows.length));
    this.#scroller.style.setProperty("height", `${(rows + 1) * (ROW + 1) + 1}px`);
  }

  #head() {
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
    replace(this.#table, h("colgroup", {}, widths), h("thead", {}, h("tr", { "aria-rowindex": 1 }, cells)), this.#body);
    this.#first = -1;
  }

  #sortBy(column) {
    this.descending = this.sort === column.id ? !this.descending : false;
    this.sort = column.id;
    this.#head();
    this.#order();
    this.#table.querySelectorAll(".sort")[this.#columns.filter((one) => one.by).indexOf(column)]?.focus();
  }

  #order() {
    const column = this.#columns.find((one) => one.id === this.sort && one.by);
    const key = this.#sorted[this.#at] && this.rowKey(this.#sorted[this.#at]);
    if (column) {
      const sign = this.descending ? -1 : 1;
      const keyed = this.#rows.map((row) => [column.by(row), row]);
      keyed.sort(([a], [b]) => sign * (typeof a === "number" && typeof b === "number" ? a - b : natural(String(a), String(b))));
      this.#sorted = keyed.map(([, row]) => row);
    } else {
      this.#sorted = this.#rows;
    }
    const at = key === undefined ? -1 : this.#sorted.findIndex((row) => this.rowKey(row) === key);
    this.#at = at >= 0 ? at : Math.min(this.#at, Math.max(0, this.#sorted.length - 1));
    this.#first = -1;
    this.#draw();
  }

  #paint() {
    if (!this.#scroller) return;
    const total = this.#sorted.length;
    const height = this.#scroller.clientHeight || ROW * 10;
    const first = Math.max(0, Math.min(total, Math.floor(this.#scroller.scrollTop / ROW) - BEYOND));
    const last = Math.min(total, first + Math.ceil(height / ROW) + BEYOND * 2);
    if (first === this.#first && last === this.#last) return;
    const focused = this.#body.contains(document.activeElement) && document.activeElement.matches("tr");
    this.#first = first;
    this.#last = last;
    this.#table.setAttribute("aria-rowcount", String(total + 1));
    const rows = [];
    for (let index = first; index < last; index += 1) rows.push(this.#row(index));
    if (!total) rows.push(h("tr", {}, h("td", { colspan: this.#columns.length, class: "muted" }, this.none)));
    replace(this.#body, spacer(first), rows, spacer(total - last));
    if (focused) this.#body.querySelector(`tr[data-index="${this.#at}"]`)?.focus({ preventScroll: true });
  }

  #row(index) {
    const row = this.#sorted[index];
    const cells = this.#columns.map((column, at) => {
      const content = column.cell(row);
      const title = typeof content === "string" ? content : null;
      return h(at === 0 ? "th" : "td", { class: ["cut", column.end ? "end nums" : ""], scope: at === 0 ? "row" : null, title }, content);
    });
    const open = this.onopen
      ? { tabindex: index === this.#at ? "0" : "-1", class: "opens", onclick: () => this.#open(index), onfocus: () => (this.#at = index) }
      : {};
    return h("tr", { "aria-rowindex": index + 2, dataset: { index }, ...open }, cells);
  }

  #open(index) {
    this.#at = index;
    this.onopen(this.#sorted[index]);
  }

  #key(event) {
    if (!this.onopen || !event.target.matches?.("tr")) return;
    const page = Math.max(1, Math.floor(this.#scroller.clientHeight / ROW) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.#open(this.#at);
    } else if (event.key in steps) {
      event.preventDefault();
      this.#at = Math.max(0, Math.min(this.#sorted.length - 1, this.#at + steps[event.key]));
      this.#show(this.#at);
    }
  }

  #show(index) {
    const top = index * ROW;
    const height = this.#scroller.clientHeight - ROW * 2;
    if (top < this.#scroller.scrollTop) this.#scroller.scrollTop = top;
    else if (top > this.#scroller.scrollTop + height) this.#scroller.scrollTop = top - height;
    this.#first = -1;
    this.#paint();
    this.#body.querySelector(`tr[data-index="${index}"]`)?.focus({ preventScroll: true });
  }
}

function spacer(rows) {
  return rows > 0 ? h("tr", { "aria-hidden": "true", class: "spacer" }, h("td", { style: { height: `${rows * ROW}px` } })) : null;
}

customElements.define("moorage-table", DataTable);

export function dataTable({ columns, rows = [], ...options }) {
  const element = document.createElement("moorage-table");
  Object.assign(element, options);
  element.columns = columns;
  element.rows = rows;
  return element;
}
