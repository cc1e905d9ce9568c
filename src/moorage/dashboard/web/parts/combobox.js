/**
 * Lets the reader choose from many values by typing: <moorage-combobox>.
 *
 *   const box = combobox({label: "Colour by", options: [{value, text, group, hint}], value, onchange: (value) => …,
 *                         free: false, placeholder: "…"});
 *   box.options = […]; box.value = "cpu"; box.disabled = true
 *
 * `free: true` also takes text that is not an option. At most 100 options are listed at a time.
 */
import { freshId, h, replace } from "../lib/dom.js";
import { icon } from "../lib/icons.js";

const MOST = 100;

export class Combobox extends HTMLElement {
  #options = [];
  #value = "";
  #found = [];
  #at = -1;
  #free = false;
  #id = freshId("combo");
  #input;
  #list;

  constructor() {
    super();
    this.onpick = null;
    this.#list = h("ul", { class: "combo-list", role: "listbox", id: `${this.#id}-list`, hidden: true });
    this.#input = h("input", {
      class: "input combo-input",
      type: "text",
      role: "combobox",
      id: `${this.#id}-input`,
      autocomplete: "off",
      spellcheck: "false",
      "aria-expanded": "false",
      "aria-controls": this.#list.id,
      "aria-autocomplete": "list",
      oninput: () => this.#open(this.#input.value),
      onclick: () => this.#list.hidden && this.#openAll(),
      onkeydown: (event) => this.#key(event),
      onblur: () => this.#leave(),
    });
  }

  connectedCallback() {
    if (this.firstChild) return;
    const label = h("label", { for: this.#input.id }, this.label ?? "");
    const arrow = h("span", { class: "combo-arrow", "aria-hidden": "true" }, icon("down", { size: 14 }));
    this.classList.add("field", "combo");
    this.append(label, h("div", { class: "combo-box" }, this.#input, arrow, this.#list));
    this.#list.setAttribute("aria-label", this.label ?? "");
    this.#input.placeholder = this.placeholder ?? "";
    this.#showValue();
  }

  set options(options) {
    this.#options = options;
    if (!this.#list.hidden) this.#open(this.#input.value);
    else this.#showValue();
  }

  get options() {
    return this.#options;
  }

  set value(value) {
    this.#value = value ?? "";
    this.#showValue();
  }

  get value() {
    return this.#value;
  }

  set free(free) {
    this.#free = free;
  }

  set disabled(disabled) {
    this.#input.disabled = disabled;
  }

  focus() {
    this.#input.focus();
  }

  #showValue() {
    if (document.activeElement === this.#input && !this.#list.hidden) return;
    this.#input.value = this.#options.find((one) => one.value === this.#value)?.text ?? this.#value;
  }

  #openAll() {
    this.#input.select();
    this.#open("");
  }

  #open(text) {
    const wanted = text.trim().toLowerCase();
    const fits = this.#options.filter((one) => !wanted || `${one.text} ${one.hint ?? ""}`.toLowerCase().includes(wanted));
    this.#found = fits.slice(0, MOST);
    const exact = this.#found.findIndex((one) => (wanted ? one.text.toLowerCase() === wanted : one.value === this.#value));
    this.#at = exact >= 0 ? exact : wanted && this.#found.length ? 0 : -1;
    let group = null;
    const items = [];
    this.#found.forEach((one, index) => {
      if (one.group && one.group !== group) {
        group = one.group;
        items.push(h("li", { class: "combo-group", role: "presentation" }, group));
      }
      items.push(
        h(
          "li",
          {
            class: "combo-option",
            role: "option",
            id: `${this.#id}-${index}`,
            "aria-selected": index === this.#at,
            onpointerdown: (event) => {
              event.preventDefault();
              this.#pick(one.value);
            },
          },
          h("span", { class: "cut" }, one.text),
          one.hint && h("span", { class: "combo-hint" }, one.hint),
        ),
      );
    });
    if (fits.length > MOST) items.push(h("li", { class: "combo-group", role: "presentation" }, `${fits.length - MOST} more: type to narrow`));
    if (!fits.length) items.push(h("li", { class: "combo-group", role: "presentation" }, this.#free ? "Enter takes it as it is" : "Nothing matches"));
    replace(this.#list, items);
    this.#list.hidden = false;
    this.#input.setAttribute("aria-expanded", "true");
    this.#mark();
  }

  #mark() {
    this.#list.querySelectorAll("[role=option]").forEach((item, index) => {
      item.setAttribute("aria-selected", String(index === this.#at));
      if (index === this.#at) item.scrollIntoView({ block: "nearest" });
    });
    if (this.#at >= 0) this.#input.setAttribute("aria-activedescendant", `${this.#id}-${this.#at}`);
    else this.#input.removeAttribute("aria-activedescendant");
  }

  #key(event) {
    const open = !this.#list.hidden;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!open) return this.#openAll();
      const step = event.key === "ArrowDown" ? 1 : -1;
      this.#at = (this.#at + step + this.#found.length) % Math.max(1, this.#found.length);
      return this.#mark();
    }
    if (event.key === "Enter" && open) {
      event.preventDefault();
      const one = this.#found[this.#at];
      if (one) this.#pick(one.value);
      else if (this.#free) this.#pick(this.#input.value.trim());
    } else if (event.key === "Escape" && open) {
      event.preventDefault();
      event.stopPropagation();
      this.#close();
      this.#showValue();
    }
    return undefined;
  }

  #leave() {
    if (this.#free && !this.#list.hidden && this.#input.value.trim() !== this.#value) {
      const text = this.#input.value.trim();
      const one = this.#options.find((option) => option.text === text);
      this.#pick(one ? one.value : text);
    }
    this.#close();
    this.#showValue();
  }

  #pick(value) {
    this.#value = value;
    this.#close();
    this.#showValue();
    this.onpick?.(value);
  }

  #close() {
    this.#list.hidden = true;
    this.#input.setAttribute("aria-expanded", "false");
    this.#input.removeAttribute("aria-activedescendant");
  }
}

customElements.define("moorage-combobox", Combobox);

export function combobox({ label, options = [], value = "", onchange = null, free = false, placeholder = "" }) {
  const element = document.createElement("moorage-combobox");
  Object.assign(element, { label, placeholder, free, options, value, onpick: onchange });
  return element;
}
