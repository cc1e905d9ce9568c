/**
 * Opens the panel of the pod that the address names as `look`, beside the view, which stays usable.
 *
 *   podDrawer(main)   follows the address; the browser's Back, Escape and the close button close the panel
 *
 * Focus moves to the panel's heading, and back to where it was when the panel is closed.
 */
import { address } from "../../lib/address.js";
import { embedded } from "../../lib/api.js";
import { h, replace } from "../../lib/dom.js";
import { problem } from "../../lib/notice.js";

/** Frames in which a view draws itself again after its width has changed. */
const FRAMES = 10;
const STYLES = "parts/pod/pod.css";

export function podDrawer(main) {
  const element = h("aside", { class: "pod-drawer", hidden: true });
  main.after(element);
  let panel = null;
  let wanted = "";
  let opener = null;
  // The address before the panel was opened: the entry of the browser's history that lies below.
  let below = "";
  let before = address.params.look ? "" : hrefWithoutLook();

  address.subscribe(follow);
  addEventListener("keydown", onKey);
  follow();

  async function follow() {
    const key = address.params.look ?? "";
    if (key === wanted) {
      if (!key) before = hrefWithoutLook();
      return;
    }
    const focused = document.activeElement;
    if (!wanted) {
      opener = focused;
      below = before;
    }
    wanted = key;
    if (!key) return close();
    try {
      const [{ PodPanel }] = await Promise.all([import("./panel.js"), stylesheet()]);
      if (wanted !== key) return undefined;
      panel?.close();
      panel = new PodPanel(key, leave);
    } catch (error) {
      console.error(error);
      problem("pod", "The pod's panel could not be opened: reload the page.");
      return undefined;
    }
    replace(element, panel.element);
    element.setAttribute("aria-labelledby", panel.titleId);
    element.hidden = false;
    document.body.classList.add("with-pod");
    panel.focus();
    return undefined;
  }

  function close() {
    const hadFocus = element.contains(document.activeElement) || document.activeElement === document.body;
    panel?.close();
    const key = panel?.key;
    panel = null;
    element.hidden = true;
    replace(element);
    document.body.classList.remove("with-pod");
    before = hrefWithoutLook();
    if (hadFocus) restoreFocus(key);
    opener = null;
  }

  /** Gives the focus back; a row or link may have been drawn again meanwhile, so that another one stands for it. */
  function restoreFocus(key) {
    const from = opener;
    const target = () => {
      if (from?.isConnected && from !== document.body) return from;
      return [...main.querySelectorAll(".pod-link")].find((link) => link.dataset.pod === key) ?? main;
    };
    target().focus({ preventScroll: true });
    // The view is wider now, and may draw its rows again in one of the next frames: the one with the focus is lost then.
    let frames = 0;
    const keep = () => {
      if (document.activeElement === document.body && !panel) target().focus({ preventScroll: true });
      frames += 1;
      if (frames < FRAMES) requestAnimationFrame(keep);
    };
    requestAnimationFrame(keep);
  }

  /** Closes the panel; what lies below in the browser's history is gone back to, so that it is not there twice. */
  function leave() {
    if (below && below === hrefWithoutLook()) history.back();
    else address.set({ look: null });
  }

  function onKey(event) {
    if (event.key !== "Escape" || event.defaultPrevented || !panel || document.querySelector("dialog[open]")) return;
    const at = document.activeElement;
    if (!element.contains(at) && at !== document.body && at !== main && at !== opener) return;
    event.preventDefault();
    leave();
  }
}

function hrefWithoutLook() {
  return address.href(address.view, { ...address.params, look: null });
}

function stylesheet() {
  // An exported page has all styles in it.
  if (embedded || document.querySelector(`link[href="${STYLES}"]`)) return Promise.resolve();
  return new Promise((resolve) => {
    document.head.append(h("link", { rel: "stylesheet", href: STYLES, onload: resolve, onerror: resolve }));
  });
}
