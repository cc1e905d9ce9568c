/** Reads keys of the map: `hands` has what each of them does. */

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const PAN = 80;
const ZOOM = 1.5;

export function readKey(event, hands) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const direction = DIRECTIONS[event.key];
  if (direction && event.shiftKey) hands.pan(direction[0] * -PAN, direction[1] * -PAN);
  else if (direction) hands.move(...direction);
  else if (event.key === "Home") hands.first();
  else if (event.key === "End") hands.last();
  else if (event.key === "+" || event.key === "=") hands.zoom(ZOOM);
  else if (event.key === "-") hands.zoom(1 / ZOOM);
  else if (event.key === "0") hands.fit();
  else if (event.key === "Enter") hands.open();
  else if (event.key === " ") hands.enter();
  else if (event.key !== "Escape" || !hands.escape()) return;
  event.preventDefault();
}
