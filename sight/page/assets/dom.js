// Making and updating elements. All text goes in as text nodes: nothing here reads HTML.

// el makes an element. Attributes whose name begins with "on" are listeners; null, undefined and false are left out.
export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// svg is el for SVG.
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// setText changes a node's text if it is another, so that a selection in it survives.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// show hides an element or shows it.
export function show(element, visible) {
  element.toggleAttribute("hidden", !visible); // elements of SVG have no property for it
}

// sync makes a container's children those of items, in their order. A child is kept as long as its key is there, so
// focus and selection survive. make returns an element for an item, and update changes it, also the first time.
export function sync(container, items, key, make, update) {
  const had = (container.keyed ??= new Map());
  const have = new Map();
  let at = container.firstChild;
  for (const item of items) {
    const k = key(item);
    if (have.has(k)) continue;
    const child = had.get(k) ?? make(item);
    had.delete(k);
    have.set(k, child);
    update(child, item);
    if (child === at) at = at.nextSibling;
    else container.insertBefore(child, at);
  }
  for (const child of had.values()) child.remove();
  container.keyed = have;
}

const waiting = new Set();

// nextFrame calls a function once at the next frame, however often it is asked to. A hidden tab has no frames, so there
// it is called by a timer.
export function nextFrame(task) {
  if (waiting.size === 0) {
    if (document.hidden) setTimeout(runWaiting, 250);
    else requestAnimationFrame(runWaiting);
  }
  waiting.add(task);
}

function runWaiting() {
  const tasks = [...waiting];
  waiting.clear();
  for (const task of tasks) task(performance.now());
}

// segmented is a group of radio buttons that looks like one switch. options are pairs of value and label.
export function segmented(name, label, options, value, changed) {
  const group = el("fieldset", { class: "segmented" }, el("legend", {}, label));
  for (const [option, text] of options) {
    const input = el("input", {
      type: "radio",
      name,
      value: option,
      checked: option === value,
      onchange: () => changed(option),
    });
    group.append(el("label", {}, input, el("span", {}, text)));
  }
  return group;
}

const tip = el("div", { id: "tip", role: "tooltip", hidden: true });

// explained is a word with its meaning, which the pointer, the keyboard and a touch bring up. Esc takes it away.
export function explained(word, meaning) {
  const term = el("button", { type: "button", class: "term", "aria-description": meaning }, word);
  const bring = () => bringTip(term, meaning);
  for (const event of ["pointerenter", "focus", "click"]) term.addEventListener(event, bring);
  for (const event of ["pointerleave", "blur"]) term.addEventListener(event, takeTip);
  term.addEventListener("keydown", (event) => event.key === "Escape" && takeTip());
  return term;
}

function takeTip() {
  show(tip, false);
}

// bringTip shows a meaning below a word, within the window.
function bringTip(term, meaning) {
  if (!tip.isConnected) {
    document.body.append(tip);
    for (const event of ["scroll", "hashchange"]) addEventListener(event, takeTip, { capture: true, passive: true });
  }
  setText(tip, meaning);
  show(tip, true);
  const { left, bottom, top } = term.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(left, document.documentElement.clientWidth - width - 8))}px`;
  tip.style.top = `${bottom + 6 + height > innerHeight ? top - height - 6 : bottom + 6}px`;
}
