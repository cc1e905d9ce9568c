/**
 * Leads to the panel of a pod, which opens beside whichever view is shown: the address gets `look=NAMESPACE/NAME`.
 *
 *   podLink("shop/web-1"), podLink("shop/web-1", "web-1")   a link, for a pod that exists
 *   openPod("shop/web-1")                                    the same for dots and rows, which are no links
 */
import { address } from "../../lib/address.js";
import { h } from "../../lib/dom.js";

export function podLink(key, text = key) {
  // The address may change after the link was made: what the browser follows or copies is set when it is needed.
  const renew = (event) => event.currentTarget.setAttribute("href", lookHref(key));
  return h("a", { class: "pod-link", href: lookHref(key), dataset: { pod: key }, onpointerdown: renew, onfocus: renew, onclick: renew }, text);
}

export function openPod(key) {
  address.go(address.view, { ...address.params, look: key });
}

function lookHref(key) {
  return address.href(address.view, { ...address.params, look: key });
}
