/**
 * Shows code (manifests, commands) with a button that copies it: codeBlock("kubectl …", {label: "Commands"}).
 */
import { h, replace } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { announce, problem } from "../lib/notice.js";

export function codeBlock(text, { label = "Code", height } = {}) {
  const button = h("button", { class: "button small quiet", type: "button", onclick: () => copy(text, button) }, icon("copy"), "Copy");
  return h(
    "figure",
    { class: "code-block" },
    h("figcaption", {}, h("span", { class: "muted" }, label), button),
    h(
      "pre",
      { tabindex: "0", role: "region", "aria-label": label, style: height ? { "max-height": height } : {} },
      h("code", {}, text),
    ),
  );
}

/** Copies text; the button says so for two seconds. */
export async function copy(text, button = null) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (!copyBySelection(text)) {
      problem("copy", "The browser did not allow copying: select the text and copy it yourself.");
      return;
    }
  }
  announce("Copied");
  if (!button) return;
  const before = [...button.childNodes];
  replace(button, icon("check"), "Copied");
  setTimeout(() => button.replaceChildren(...before), 2000);
}

/** Clipboards need a secure context: a page opened as a file or by address has only this. */
function copyBySelection(text) {
  const area = h("textarea", { class: "visually-hidden", "aria-hidden": "true", tabindex: "-1", value: text });
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  focused?.focus?.();
  return done;
}
