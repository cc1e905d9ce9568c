/**
 * Lists completions below the cursor of an editor: show(completion, rect), move(step), chosen(), hide().
 *
 * The text area keeps the focus; aria-activedescendant names the option that Enter or Tab would take.
 */
import { freshId, h, replace } from "../../lib/dom.js";
import { count } from "../../lib/format.js";
import { announce } from "../../lib/notice.js";

const SIGNS = { function: "ƒ", macro: "ƒ", variable: "x", field: "•", operator: "±", taint: "t", label: "l", value: "“”", effect: "e", keyword: "k", namespace: "n" };

export class CompletionList {
  #id = freshId("completion");
  #owner;
  #at = 0;
  #items = [];
  #onpick;

  constructor(owner, onpick) {
    this.#owner = owner;
    this.#onpick = onpick;
    this.list = h("ul", { class: "completions", role: "listbox", id: this.#id, "aria-label": "Completions" });
    this.note = h("p", { class: "completion-note" });
    this.element = h("div", { class: "completion-box", hidden: true }, this.list, this.note);
    owner.setAttribute("aria-controls", this.#id);
    owner.setAttribute("aria-autocomplete", "list");
    owner.setAttribute("aria-haspopup", "listbox");
  }

  get open() {
    return !this.element.hidden;
  }

  show(completion, { left, top }) {
    this.#items = completion.candidates;
    this.#at = 0;
    replace(
      this.list,
      this.#items.map((one, index) =>
        h(
          "li",
          {
            class: "completion",
            role: "option",
            id: `${this.#id}-${index}`,
            "aria-selected": false,
            onpointerdown: (event) => {
              event.preventDefault();
              this.#onpick(one);
            },
          },
          h("span", { class: ["completion-kind", one.kind], title: one.kind, "aria-hidden": "true" }, SIGNS[one.kind] ?? "•"),
          h("span", { class: "completion-label" }, one.label),
          h("span", { class: "completion-detail cut" }, one.detail),
        ),
      ),
    );
    this.element.hidden = false;
    const room = this.element.offsetParent?.clientWidth ?? left + this.element.offsetWidth;
    this.element.style.setProperty("left", `${Math.max(0, Math.min(left, room - this.element.offsetWidth))}px`);
    this.element.style.setProperty("top", `${top}px`);
    announce(`${count(this.#items.length, "completion")}${completion.context ? ` of ${completion.context}` : ""}`);
    this.#mark();
  }

  move(step) {
    const last = this.#items.length;
    this.#at = (this.#at + step + last) % last;
    this.#mark();
  }

  chosen() {
    return this.#items[this.#at];
  }

  hide() {
    if (!this.open) return;
    this.element.hidden = true;
    this.#owner.removeAttribute("aria-activedescendant");
  }

  #mark() {
    [...this.list.children].forEach((item, index) => {
      item.setAttribute("aria-selected", String(index === this.#at));
      if (index === this.#at) item.scrollIntoView({ block: "nearest" });
    });
    this.#owner.setAttribute("aria-activedescendant", `${this.#id}-${this.#at}`);
    const { detail, doc, kind } = this.#items[this.#at];
    const signature = kind === "function" || kind === "macro" ? detail : "";
    replace(this.note, signature && h("code", {}, signature), doc && h("span", {}, doc));
    this.note.hidden = !signature && !doc;
  }
}
