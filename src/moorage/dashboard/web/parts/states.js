/**
 * Shows that there is nothing, that it is being loaded, or that it failed, in a box whose height is reserved.
 *
 *   loading("Asking the scheduler", {height: "12rem"})      says how far the simulation is where that takes long
 *   empty("No pod is pending", "Pods that no node takes appear here.")
 *   failed("The pod is gone", () => retry())
 */
import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";

export function loading(text = "Loading", { height } = {}) {
  return h(
    "div",
    { class: "loading", role: "status", style: height ? { "min-height": height } : {} },
    h("span", { class: "spinner", "aria-hidden": "true" }),
    h("span", {}, `${text}…`),
    // Numbers that change all the time are not for screen readers.
    h("span", { class: "loading-progress muted nums", "aria-hidden": "true", dataset: { progress: "" } }),
  );
}

export function empty(text, hint = "", { height } = {}) {
  return h(
    "div",
    { class: "empty", style: height ? { "min-height": height } : {} },
    h("p", { class: "empty-text" }, text),
    hint && h("p", { class: "muted" }, hint),
  );
}

export function failed(text, again = null, { height } = {}) {
  return h(
    "div",
    { class: "empty failed", role: "alert", style: height ? { "min-height": height } : {} },
    h("p", { class: "empty-text" }, icon("warning"), " ", text),
    again && h("button", { class: "button small", type: "button", onclick: again }, "Try again"),
  );
}
