// Numbers, times and names as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const precise = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

// count writes a number of things: 1,203.
export const count = (n) => whole.format(n);

// quantity writes a measured number in little room: 0.25, 48.1, 1,203, 12.3K.
export function quantity(n) {
  if (n === null || n === undefined || !Number.isFinite(n)) return "–";
  if (n >= 10_000) return short.format(n);
  if (n >= 100) return whole.format(n);
  return n > 0 && n < 0.005 ? "< 0.01" : precise.format(n < 10 ? Math.round(n * 100) / 100 : n);
}

// plural writes a number and its noun: 1 server, 3 servers.
export const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

// milliseconds writes a duration: 0.4 ms, 340 ms, 1.24 s, 3 min 20 s.
export function milliseconds(ms) {
  if (ms === null || ms === undefined || !Number.isFinite(ms) || ms < 0) return "–";
  if (ms < 10) return `${precise.format(Math.round(ms * 10) / 10)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  return span(ms / 1000);
}

// span writes a long duration by its two largest units: 48 s, 3 min 20 s, 5 h 12 min, 3 d 4 h.
export function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return join(Math.floor(s / 60), "min", s % 60, "s");
  if (s < 86_400) return join(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "min");
  return join(Math.floor(s / 86_400), "d", Math.floor((s % 86_400) / 3600), "h");
}

const join = (large, unit, small, smaller) => (small ? `${large} ${unit} ${small} ${smaller}` : `${large} ${unit}`);

// ago writes how long ago a time in RFC 3339 was. It is "" if there is no such time.
export function ago(time, now = Date.now()) {
  const at = Date.parse(time ?? "");
  return Number.isNaN(at) ? "" : span((now - at) / 1000);
}

const clocks = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const minutes = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const days = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

// clock writes a time of day in the reader's time zone: 09:12:35. minute leaves the seconds out.
export const clock = (ms) => clocks.format(ms);
export const minute = (ms) => minutes.format(ms);

// moment writes a time in RFC 3339 with its day.
export function moment(time) {
  const at = Date.parse(time ?? "");
  return Number.isNaN(at) ? "–" : `${days.format(at)}, ${clocks.format(at)}`;
}

// facts joins what is known of a thing. Lines break between facts, and not between a number and its unit.
export const facts = (all) => all.filter(Boolean).map(tight).join("\u00a0· ");

const tight = (text) => text.replace(/(\d) (?=[\p{L}%])/gu, "$1\u00a0");

// visible spells the characters that would hide or reorder others: controls and marks of direction. It is for names,
// arguments and addresses, where such a character is a trap. Prose is isolated by its element instead.
export function visible(text) {
  return String(text).replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (c) => `\\u{${c.codePointAt(0).toString(16)}}`,
  );
}
