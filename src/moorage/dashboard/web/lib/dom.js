/**
 * Builds elements. Text becomes text nodes, so no string of the cluster is ever read as markup.
 *
 *   h("button", {class: "button", onclick: save, disabled: !ready}, "Save")
 *
 * Properties: `class`, `style` (object, set by setProperty), `dataset` (object), `on…` (functions only),
 * `.name` (sets the property `name` of a custom element), and attributes: true → present, false/null → absent
 * (`aria-…` keep "true" and "false"). Children: nodes, strings, numbers, arrays of them; null and false are left out.
 */

const SVG = "http://www.w3.org/2000/svg";
const AS_PROPERTY = new Set(["value", "checked", "selected", "indeterminate", "htmlFor"]);
const LINKS = new Set(["href", "src", "action", "formaction", "xlink:href"]);
const SAFE_LINK = /^(?:#|\/(?!\/)|\.|https?:|data:image\/|data:text\/plain|blob:|[\w-]+(?:[/.?#]|$))/i;
const NEVER = new Set(["innerHTML", "outerHTML", "srcdoc"]);

export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** Like `h`, for elements of SVG. */
export function svg(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

/** Replaces all children of an element. */
export function replace(element, ...children) {
  const nodes = [];
  collect(nodes, children);
  element.replaceChildren(...nodes);
  return element;
}

/** Sets the text of an element only where it differs, so that screen readers and layout have nothing to do. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Returns a function that runs `work` once in the next animation frame, however often it is called until then. */
export function perFrame(work) {
  let waiting = 0;
  const run = () => {
    waiting = 0;
    work();
  };
  const ask = () => {
    if (!waiting) waiting = requestAnimationFrame(run);
  };
  ask.cancel = () => {
    cancelAnimationFrame(waiting);
    waiting = 0;
  };
  return ask;
}

/** Returns a function that runs `work` with the last arguments when it has not been called for `milliseconds`. */
export function debounce(work, milliseconds) {
  let timer = 0;
  const ask = (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), milliseconds);
  };
  ask.cancel = () => clearTimeout(timer);
  return ask;
}

let lastId = 0;

/** Returns an id that no other element of the page has. */
export function freshId(prefix = "m") {
  lastId += 1;
  return `${prefix}-${lastId}`;
}

/** Says whether the reader has asked for less motion. */
export function calm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) set(element, name, value);
  const nodes = [];
  collect(nodes, children);
  element.append(...nodes);
  return element;
}

function set(element, name, value) {
  if (NEVER.has(name) || NEVER.has(name.slice(1))) throw new TypeError(`${name} is not set here: pass children`);
  if (name.startsWith("on")) {
    if (value == null || value === false) return;
    if (typeof value !== "function") throw new TypeError(`${name} takes a function`);
    element.addEventListener(name.slice(2).toLowerCase(), value);
  } else if (name.startsWith(".")) {
    element[name.slice(1)] = value;
  } else if (name === "class") {
    if (value) element.setAttribute("class", Array.isArray(value) ? value.filter(Boolean).join(" ") : value);
  } else if (name === "style") {
    for (const [key, one] of Object.entries(value ?? {})) element.style.setProperty(key, String(one));
  } else if (name === "dataset") {
    Object.assign(element.dataset, value);
  } else if (AS_PROPERTY.has(name)) {
    if (value != null) element[name] = value;
  } else if (name.startsWith("aria-")) {
    if (value != null) element.setAttribute(name, String(value));
  } else if (value === true) {
    element.setAttribute(name, "");
  } else if (value != null && value !== false) {
    if (LINKS.has(name) && !SAFE_LINK.test(String(value).trim())) return;
    element.setAttribute(name, String(value));
  }
}

function collect(nodes, children) {
  for (const child of children) {
    if (child == null || child === false || child === true) continue;
    if (Array.isArray(child)) collect(nodes, child);
    else if (child instanceof Node) nodes.push(child);
    else nodes.push(document.createTextNode(String(child)));
  }
}
