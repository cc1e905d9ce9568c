/**
 * Edits a rule: a text area over a coloured copy of its text, with line numbers, underlined problems and completion.
 *
 *   const editor = new Editor({label, oninput: (text) => …, complete: async (text, place, signal) => completion, describedBy});
 *   editor.element; editor.text = "…"; editor.language = "yaml" or "cel"; editor.problems = […]; editor.select(problem)
 *
 * Tab indents; after Escape it leaves the editor. Control and Space ask for completions.
 */
import { debounce, h, perFrame, replace } from "../../lib/dom.js";
import { isAbort } from "../../lib/api.js";
import { CompletionList } from "./completion-list.js";
import { highlight, marked } from "./highlight.js";
import { indexOfColumn, offsetOf, placeOf } from "./places.js";

const INDENT = "  ";
const COMPLETES_AFTER = /[\w.'"/-]$|:\s$|^\s*$|[[{,(]\s?$/;

export class Editor {
  #language = "yaml";
  #problems = [];
  #leaves = false;
  #asking = null;
  #completion = null;
  #shown = null;
  #oninput;
  #complete;
  #paint = perFrame(() => this.#draw());
  #suggest = debounce(() => this.#askCompletion(false), 120);

  constructor({ label, describedBy, hintId, oninput, complete, onplace }) {
    this.#oninput = oninput;
    this.#complete = complete;
    this.onplace = onplace;
    this.area = h("textarea", {
      class: "editor-area",
      "aria-label": label,
      "aria-describedby": `${describedBy} ${hintId}`,
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      wrap: "off",
      oninput: (event) => this.#changed(event),
      onkeydown: (event) => this.#key(event),
      onscroll: () => this.#scrolled(),
      onblur: () => this.#left(),
      onclick: () => this.#moved(),
      onkeyup: () => this.#moved(),
    });
    this.#layers();
    this.completions = new CompletionList(this.area, (one) => this.#take(one));
    this.element = h("div", { class: "editor" }, this.numbers, h("div", { class: "editor-body" }, this.copy, this.area), this.completions.element);
  }

  #layers() {
    this.code = h("code", {});
    this.copy = h("pre", { class: "editor-copy", "aria-hidden": "true" }, this.code);
    this.numberList = h("div", { class: "editor-number-list" });
    this.numbers = h("div", { class: "editor-numbers", "aria-hidden": "true" }, this.numberList);
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    if (this.area.value === text) return;
    this.area.value = text;
    this.#problems = [];
    this.close();
    this.#draw();
  }

  set language(language) {
    this.#language = language;
    this.#draw();
  }

  set disabled(disabled) {
    this.area.readOnly = disabled;
  }

  set problems(problems) {
    this.#problems = problems;
    this.area.setAttribute("aria-invalid", String(problems.some((one) => one.severity === "error")));
    this.#paint();
  }

  /** Moves the cursor to a problem and selects what it is about. */
  select({ line, column, endColumn }) {
    this.area.focus();
    this.area.setSelectionRange(offsetOf(this.text, line, column), offsetOf(this.text, line, endColumn));
    const height = Number.parseFloat(getComputedStyle(this.area).lineHeight);
    const top = (line - 1) * height;
    if (top < this.area.scrollTop || top > this.area.scrollTop + this.area.clientHeight - 2 * height) {
      this.area.scrollTop = Math.max(0, top - this.area.clientHeight / 2);
    }
    this.#moved();
  }

  /** Forgets open completions and questions about them. */
  close() {
    this.#suggest.cancel();
    this.#asking?.abort();
    this.completions?.hide();
  }

  // -- layers

  #draw() {
    const byLine = new Map();
    for (const one of this.#problems) {
      if (!byLine.has(one.line)) byLine.set(one.line, []);
      byLine.get(one.line).push(one);
    }
    const text = this.text;
    const lines = highlight(text, this.#language);
    const raw = text.split("\n");
    const nodes = [];
    lines.forEach((pieces, index) => {
      const ranges = (byLine.get(index + 1) ?? []).map((one) => ({
        start: indexOfColumn(raw[index], one.column),
        end: Math.max(indexOfColumn(raw[index], one.endColumn), indexOfColumn(raw[index], one.column) + 1),
        severity: one.severity,
      }));
      for (const piece of marked(pieces, ranges)) nodes.push(styled(piece));
      nodes.push("\n");
    });
    replace(this.code, nodes);
    this.#number(raw.length, byLine);
    this.#scrolled();
  }

  #number(lines, byLine) {
    const marks = Array.from({ length: lines }, (_, index) => worst(byLine.get(index + 1)));
    const key = marks.join();
    if (this.#shown === key) return;
    this.#shown = key;
    replace(
      this.numberList,
      marks.map((mark, index) => h("div", { class: ["editor-number", mark] }, index + 1)),
    );
  }

  #scrolled() {
    const { scrollLeft, scrollTop } = this.area;
    this.code.style.setProperty("transform", `translate(${-scrollLeft}px, ${-scrollTop}px)`);
    this.numberList.style.setProperty("transform", `translateY(${-scrollTop}px)`);
  }

  // -- typing

  #changed(event) {
    this.#draw();
    this.#oninput(this.text);
    this.#narrow();
    const typed = event?.inputType ?? "";
    if (typed.startsWith("insert") && typed !== "insertFromPaste" && this.#wantsCompletion()) this.#suggest();
    else this.close();
  }

  #wantsCompletion() {
    const { selectionStart } = this.area;
    const line = this.text.slice(this.text.lastIndexOf("\n", selectionStart - 1) + 1, selectionStart);
    return COMPLETES_AFTER.test(line) && line.trim() !== "";
  }

  #moved() {
    this.onplace?.(placeOf(this.text, this.area.selectionStart));
  }

  #left() {
    this.#leaves = false;
    this.close();
  }

  #key(event) {
    if (event.isComposing) return;
    if (this.completions.open && this.#completionKey(event)) return;
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.#askCompletion(true);
    } else if (event.key === "Escape") {
      this.close();
      this.#leaves = true;
    } else if (event.key === "Tab" && !this.#leaves && !event.ctrlKey && !event.altKey && !this.area.readOnly) {
      event.preventDefault();
      this.#indent(event.shiftKey);
    } else if (event.key === "Enter" && !event.ctrlKey && !event.shiftKey) {
      event.preventDefault();
      this.#newLine();
    } else if (event.key !== "Shift" && event.key !== "Tab") this.#leaves = false;
  }

  #completionKey(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    if (event.key in steps) this.completions.move(steps[event.key]);
    else if (event.key === "Enter" || event.key === "Tab") this.#take(this.completions.chosen());
    else if (event.key === "Escape") this.close();
    else {
      if (event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End") this.close();
      return false;
    }
    event.preventDefault();
    return true;
  }

  #newLine() {
    const { selectionStart } = this.area;
    const line = this.text.slice(this.text.lastIndexOf("\n", selectionStart - 1) + 1, selectionStart);
    let indent = /^\s*/.exec(line)[0];
    if (this.#language === "yaml") {
      const item = /^(\s*)((?:-\s+)+)\S/.exec(line);
      if (item) indent = item[1] + " ".repeat(item[2].length);
      if (/:\s*(?:[|>][0-9+-]*)?\s*$/.test(line) && line.trim()) indent += INDENT;
    }
    this.#insert(`\n${indent}`);
  }

  #indent(back) {
    const { selectionStart, selectionEnd } = this.area;
    const start = this.text.lastIndexOf("\n", selectionStart - 1) + 1;
    if (!back && selectionStart === selectionEnd) return this.#insert(INDENT);
    const lines = this.text.slice(start, selectionEnd).split("\n");
    const made = lines.map((line) => (back ? line.replace(/^ {1,2}/, "") : INDENT + line)).join("\n");
    this.area.setSelectionRange(start, selectionEnd);
    this.#insert(made);
    if (lines.length > 1) this.area.setSelectionRange(start, start + made.length);
    return undefined;
  }

  /** Types a text as the reader would, so that it can be undone. */
  #insert(text) {
    this.area.focus();
    const worked = text === "" ? document.execCommand("delete") : document.execCommand("insertText", false, text);
    if (worked) return;
    this.area.setRangeText(text, this.area.selectionStart, this.area.selectionEnd, "end");
    this.#changed({ inputType: "" });
  }

  // -- completion

  async #askCompletion(explicit) {
    if (this.area.readOnly) return;
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    const { text } = this;
    const offset = this.area.selectionStart;
    try {
      const completion = await this.#complete(text, placeOf(text, offset), asking.signal);
      if (asking.signal.aborted || this.text !== text || this.area.selectionStart !== offset) return;
      this.#offer(completion, explicit);
    } catch (error) {
      if (!isAbort(error)) this.close();
    }
  }

  #offer(completion, explicit) {
    const { candidates, line, column, endColumn } = completion ?? { candidates: [] };
    const [from, to] = candidates.length ? [offsetOf(this.text, line, column), offsetOf(this.text, line, endColumn)] : [0, 0];
    const written = this.text.slice(from, to);
    const isDone = candidates.length === 1 && candidates[0].insert.trim() === written.trim();
    const isEmpty = from === this.area.selectionStart && /\s$|^$/.test(this.text.slice(0, from)) && this.#language === "cel";
    if (!candidates.length || (!explicit && (isDone || isEmpty))) {
      this.completions.hide();
      return;
    }
    this.#completion = { ...completion, from, to, length: this.text.length };
    this.completions.show(completion, this.#caret(from));
  }

  /** Typing goes on before the next answer is there: keeps what still fits, and what Enter would replace. */
  #narrow() {
    if (!this.completions.open || !this.#completion) return;
    const { from, length } = this.#completion;
    const to = this.#completion.to + this.text.length - length;
    const written = this.text.slice(from, this.area.selectionStart).toLowerCase();
    const candidates = this.#completion.candidates.filter(({ label }) => label.toLowerCase().includes(written));
    if (to < from || this.area.selectionStart < from || !candidates.length) {
      this.completions.hide();
      return;
    }
    this.#completion = { ...this.#completion, candidates, to, length: this.text.length };
    this.completions.show(this.#completion, this.#caret(from));
  }

  #take(one) {
    this.completions.hide();
    if (!one || !this.#completion) return;
    this.area.setSelectionRange(this.#completion.from, this.#completion.to);
    this.#insert(one.insert);
    if (one.insert.endsWith(".") || one.insert.endsWith(": ")) this.#askCompletion(true);
  }

  /** Where the character at an offset is drawn, below its line, measured on the coloured copy. */
  #caret(offset) {
    const walker = document.createTreeWalker(this.code, NodeFilter.SHOW_TEXT);
    let rest = offset;
    let node = walker.nextNode();
    while (node && rest > node.length) {
      rest -= node.length;
      node = walker.nextNode();
    }
    const around = this.element.getBoundingClientRect();
    if (!node) return { left: 0, top: 0 };
    const range = document.createRange();
    range.setStart(node, Math.min(rest, node.length));
    range.collapse(true);
    const rect = range.getClientRects()[0] ?? this.area.getBoundingClientRect();
    return { left: rect.left - around.left, top: rect.bottom - around.top + 2 };
  }
}

function styled({ text, kind, marks }) {
  const severity = worst(marks);
  if (!kind && !severity) return text;
  return h("span", { class: [kind && `code-${kind}`, severity && `squiggle ${severity}`] }, text);
}

function worst(problems = []) {
  if (problems.some((one) => one.severity === "error")) return "error";
  return problems.length ? "warning" : "";
}
