/**
 * Opens a dialog over the page: const result = await openDialog({title, body: [nodes], actions: [{text, value, kind}]}).
 * Resolves to the action's value, or null when it is closed. Focus goes back to where it was.
 */
import { freshId, h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";

export function openDialog({ title, body, actions = [{ text: "Close", value: null }] }) {
  return new Promise((resolve) => {
    let value = null;
    const id = freshId("dialog");
    const focused = document.activeElement;
    const finish = (one) => {
      value = one;
      dialog.close();
    };
    const dialog = h(
      "dialog",
      { class: "dialog", "aria-labelledby": id },
      h(
        "div",
        { class: "dialog-head" },
        h("h2", { id }, title),
        h("button", { class: "icon-button", type: "button", "aria-label": "Close", onclick: () => finish(null) }, icon("close")),
      ),
      h("div", { class: "dialog-body" }, body),
      h(
        "div",
        { class: "dialog-actions" },
        actions.map((action) =>
          h("button", { class: ["button", action.kind], type: "button", onclick: () => finish(action.value) }, action.text),
        ),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      focused?.focus?.();
      resolve(value);
    });
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) finish(null);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
