// A plot of the last hour, in SVG, with a readout for pointer and keyboard.

import { el, explained, setText, show, svg } from "./dom.js";
import { clock, minute, quantity } from "./format.js";

const HEIGHT = 164;
const LEFT = 44;
const BOTTOM = 20;
const TOP = 22; // above it is the unit
// SPANS are how many seconds a plot may show, each with the time between its marks. It shows the shortest one that has
// all values, so that a young fleet fills it too.
const SPANS = [
  [300, 60],
  [900, 180],
  [1800, 300],
  [3600, 600],
];

// Plot shows some series over the last hour, or over what there is of it. options: title, its meaning, unit, stacked,
// and moved, which is called with the time under the pointer, or null.
export class Plot {
  constructor({ title, meaning, unit, stacked = false, moved }) {
    this.title = title;
    this.unit = unit;
    this.stacked = stacked;
    this.moved = moved;
    this.at = null;
    this.lines = [];
    this.times = [];
    this.width = 0;
    this.now = el("span", { class: "now" });
    this.legend = el("ul", { class: "legend" });
    this.picture = svg("svg", { "aria-hidden": "true" });
    this.empty = el("p", { class: "empty" }, "Nothing in the last hour.");
    this.frame = el(
      "div",
      {
        class: "frame",
        tabindex: "0",
        role: "slider",
        "aria-label": `${title}, time`,
        "aria-valuemin": "0",
        "aria-valuemax": "0",
        "aria-valuenow": "0",
      },
      this.picture,
      this.empty,
    );
    this.element = el(
      "section",
      { class: "card plot", "aria-label": title },
      el("header", {}, el("h2", {}, meaning ? explained(title, meaning) : title), this.now),
      this.frame,
      this.legend,
    );
    this.frame.addEventListener("pointermove", (event) => this.point(event));
    this.frame.addEventListener("pointerleave", () => this.moved(null));
    this.frame.addEventListener("keydown", (event) => this.key(event));
    this.frame.addEventListener("blur", () => this.moved(null));
    new ResizeObserver(() => {
      this.width = this.frame.clientWidth;
      this.draw();
    }).observe(this.frame);
  }

  // set shows these lines: each has a name, a tone (a class of the style sheet) and values, one for each of times.
  set(times, lines) {
    this.times = times;
    this.lines = lines;
    this.draw();
  }

  // mark shows the readout at a time, or takes it away.
  mark(at) {
    this.at = at;
    this.drawMark();
  }

  draw() {
    const { times, lines, width } = this;
    const some = lines.some((line) => line.values.some((v) => typeof v === "number"));
    show(this.empty, !some);
    show(this.picture, some);
    if (!some || width < 60) {
      this.legend.replaceChildren();
      setText(this.now, "");
      return;
    }
    this.end = times.at(-1);
    [this.span, this.marks] = SPANS.find(([span]) => this.end - times[0] < span) ?? SPANS.at(-1);
    this.tops = this.stacked ? stack(lines) : lines.map((line) => line.values);
    let most = 0;
    for (const values of this.tops) for (const v of values) if (v > most) most = v;
    this.step = niceStep(most);
    this.most = this.step * Math.max(1, Math.ceil((most / this.step) * 0.999));
    this.picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.picture.setAttribute("height", HEIGHT);
    this.picture.replaceChildren(...this.grid(), ...this.shapes(), (this.pin = svg("g", { class: "pin" })));
    this.frame.setAttribute("aria-valuemax", String(times.length - 1));
    this.drawMark();
  }

  x(time) {
    return LEFT + ((time - this.end + this.span) / this.span) * (this.width - LEFT - 6);
  }

  y(value) {
    return HEIGHT - BOTTOM - (value / this.most) * (HEIGHT - BOTTOM - TOP);
  }

  grid() {
    const parts = [svg("text", { x: 2, y: 9 }, this.unit)];
    for (let v = 0; v <= this.most * 1.001; v += this.step) {
      const y = this.y(v);
      parts.push(
        svg("line", { class: "grid", x1: LEFT, x2: this.width - 6, y1: y, y2: y }),
        svg("text", { x: LEFT - 6, y: y + 3.5, "text-anchor": "end" }, quantity(v)),
      );
    }
    const every = this.width < 420 ? 2 * this.marks : this.marks;
    for (let t = Math.ceil((this.end - this.span) / every) * every; t <= this.end; t += every) {
      const x = this.x(t);
      if (x < LEFT + 12 || x > this.width - 18) continue;
      parts.push(svg("text", { x, y: HEIGHT - 4, "text-anchor": "middle" }, minute(t * 1000)));
    }
    return parts;
  }

  shapes() {
    return this.lines
      .map((line, i) => {
        const below = this.stacked && i > 0 ? this.tops[i - 1] : null;
        return svg("path", {
          class: this.stacked ? "area" : "line",
          "data-tone": line.tone,
          d: this.stacked ? this.area(this.tops[i], below) : this.line(this.tops[i]),
        });
      })
      .reverse();
  }

  line(values) {
    let path = "";
    let pen = false;
    for (const [i, v] of values.entries()) {
      if (typeof v !== "number") {
        pen = false;
        continue;
      }
      path += `${pen ? "L" : "M"}${this.x(this.times[i]).toFixed(1)} ${this.y(v).toFixed(1)}`;
      if (!pen) path += "h.01"; // a point between two gaps is seen too
      pen = true;
    }
    return path;
  }

  area(tops, below) {
    let path = "";
    for (let i = 0; i < tops.length; i++) {
      if (typeof tops[i] !== "number") continue;
      let to = i;
      while (to + 1 < tops.length && typeof tops[to + 1] === "number") to++;
      const points = [];
      for (let k = i; k <= to; k++) points.push(`${this.x(this.times[k]).toFixed(1)} ${this.y(tops[k]).toFixed(1)}`);
      for (let k = to; k >= i; k--) {
        points.push(`${this.x(this.times[k]).toFixed(1)} ${this.y(below?.[k] ?? 0).toFixed(1)}`);
      }
      path += `M${points.join("L")}z`;
      i = to;
    }
    return path;
  }

  // index returns the index of the time that is marked, or of the last one.
  index() {
    if (this.at === null) return this.times.length - 1;
    let best = 0;
    for (const [i, t] of this.times.entries())
      if (Math.abs(t - this.at) < Math.abs(this.times[best] - this.at)) best = i;
    return best;
  }

  drawMark() {
    if (!this.pin || this.times.length === 0) return;
    const i = this.index();
    const values = this.lines.map((line) => line.values[i]);
    this.pin.replaceChildren();
    if (this.at !== null) {
      const x = this.x(this.times[i]);
      this.pin.append(svg("line", { x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }));
      for (const [k, line] of this.lines.entries()) {
        const v = this.tops[k][i];
        if (typeof v === "number")
          this.pin.append(svg("circle", { cx: x, cy: this.y(v), r: 3.5, "data-tone": line.tone }));
      }
    }
    setText(this.now, this.at === null ? `${this.total(values)} ${this.unit}` : clock(this.times[i] * 1000));
    this.frame.setAttribute("aria-valuenow", String(i));
    this.frame.setAttribute(
      "aria-valuetext",
      `${clock(this.times[i] * 1000)}: ` +
        this.lines.map((line, k) => `${line.name} ${quantity(values[k])} ${this.unit}`).join(", "),
    );
    this.drawLegend(values);
  }

  total(values) {
    const known = values.filter((v) => typeof v === "number");
    if (known.length === 0) return "–";
    return quantity(this.stacked ? known.reduce((sum, v) => sum + v, 0) : known.at(0));
  }

  drawLegend(values) {
    while (this.legend.childElementCount > this.lines.length) this.legend.lastElementChild.remove();
    for (const [k, line] of this.lines.entries()) {
      let item = this.legend.children[k];
      if (!item) this.legend.append((item = el("li", {}, el("i"), el("span"), el("b"))));
      item.dataset.tone = line.tone;
      setText(item.children[1], line.name);
      setText(item.children[2], quantity(values[k]));
    }
  }

  point(event) {
    if (!this.end) return;
    const share = (event.clientX - this.frame.getBoundingClientRect().left - LEFT) / (this.width - LEFT - 6);
    this.moved(this.end - this.span + Math.min(Math.max(share, 0), 1) * this.span);
  }

  key(event) {
    const steps = {
      ArrowLeft: -1,
      ArrowDown: -1,
      ArrowRight: 1,
      ArrowUp: 1,
      PageUp: 12,
      PageDown: -12,
      Home: -Infinity,
      End: Infinity,
    };
    if (event.key === "Escape") this.moved(null);
    if (!(event.key in steps) || this.times.length === 0) return;
    event.preventDefault();
    const to = Math.min(Math.max(this.index() + steps[event.key], 0), this.times.length - 1);
    this.moved(this.times[to]);
  }
}

// stack adds each line to those before it. What is unknown counts as nothing where another line is known.
function stack(lines) {
  const sums = [];
  for (const line of lines) {
    const before = sums.at(-1);
    sums.push(
      line.values.map((v, i) => {
        const below = before?.[i];
        return typeof v === "number" || typeof below === "number" ? (v ?? 0) + (below ?? 0) : null;
      }),
    );
  }
  return sums;
}

// niceStep returns the distance of the lines of a grid: 1, 2 or 5 with zeros.
function niceStep(most) {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most / 3));
  const n = most / 3 / power;
  return (n < 1.5 ? 1 : n < 3.5 ? 2 : n < 7.5 ? 5 : 10) * power;
}
