// The page's own server: what it answers, and what it sends by itself. Nothing else is ever asked.

// getJSON returns what a path answers. It throws an error in words.
export async function getJSON(path) {
  const response = await ask(path);
  return response.json();
}

// getText is getJSON for text.
export async function getText(path) {
  const response = await ask(path);
  return response.text();
}

async function ask(path) {
  let response;
  try {
    response = await fetch(path, { headers: { accept: "application/json" } });
  } catch {
    throw new Error("The page's server does not answer. Is harmony still running?");
  }
  if (!response.ok) throw new Error(`The page's server answers ${response.status} for ${path}.`);
  return response;
}

// recordPath is the path of a record, and livePath that of its lines as they come.
export const recordPath = (id) => `/api/records/${encodeURIComponent(id)}`;
export const livePath = (id) => `${recordPath(id)}/live`;

// TRIES is how often a record is asked for that is not there yet.
const TRIES = 6;

// followRecord calls line with each line of a record, parsed, from the first on, and ended once when no more come. It
// returns a function that stops it.
export function followRecord(id, line, ended) {
  let source = null;
  let timer = 0;
  let tries = 0;
  let seen = false;
  const stop = () => {
    source.close();
    ended();
  };
  const begin = () => {
    source = new EventSource(livePath(id));
    source.addEventListener("line", (event) => {
      seen = true;
      const parsed = parseLine(event.data);
      if (parsed) line(parsed);
      if (parsed?.type === "end") stop();
    });
    source.onerror = () => {
      // A request's first frames may come to the recorder after its first token came to the client. What breaks off
      // later has ended, since the server is on the same machine.
      if (seen || ++tries >= TRIES) return stop();
      source.close();
      timer = setTimeout(begin, 300);
    };
  };
  begin();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}

// parseLine parses a line of a record. It returns null for one that is cut.
export function parseLine(text) {
  try {
    const line = JSON.parse(text);
    return line && typeof line === "object" ? line : null;
  } catch {
    return null;
  }
}
