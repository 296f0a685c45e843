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

// followRecord calls line with each line of a record, parsed, from the first on, and ended once when no more come. It
// returns a function that stops it.
export function followRecord(id, line, ended) {
  const source = new EventSource(livePath(id));
  const stop = () => {
    source.close();
    ended();
  };
  source.addEventListener("line", (event) => {
    const parsed = parseLine(event.data);
    if (parsed) line(parsed);
    if (parsed?.type === "end") stop();
  });
  source.onerror = stop; // the server is on the same machine: what breaks off has ended
  return () => source.close();
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
