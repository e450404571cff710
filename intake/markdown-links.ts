// Markdown's links: their targets take the place of their labels.

/** Limits of Markdown's parts, which keep the search for brackets short. */
const MAX_LABEL_CHARS = 1_000;
const MAX_TARGET_CHARS = 4_096;
const MAX_UNCLOSED = 1_000;

const IS_URL = /^(?:https?:\/\/|www\.)\S+$/i;

/** Puts `<url>` in place of each `[label](url "title")`, whose label is no URL to check. */
export function withoutMarkdown(text: string): string {
  const done: string[] = [];
  /** The text before `from`, as far as a label may reach back. */
  let recent = '';
  let from = 0;
  let unclosed = 0;
  for (let at = text.indexOf(']('); at !== -1; at = text.indexOf('](', Math.max(from, at + 2))) {
    const end = endOfTarget(text, at + 2);
    if (end === -1 && ++unclosed === MAX_UNCLOSED) break;
    if (end === -1) continue;
    recent += text.slice(from, at);
    const label = startOfLabel(recent);
    // Brackets inside of a URL are part of it.
    if (isInsideUrl(recent.slice(Math.max(0, label - MAX_LABEL_CHARS), label))) {
      recent += text.slice(at, end + 1);
      from = end + 1;
      continue;
    }
    // A picture in the label has a URL of its own.
    const pictures =
      recent
        .slice(label)
        .match(/<[^<>]*>/g)
        ?.join(' ') ?? '';
    const target = targetOf(text.slice(at + 2, end));
    const shown = recent.slice(label).replace(/^!?\[/, '');
    // Some take the places of the two for each other.
    const is_swapped = IS_URL.test(shown) && !IS_URL.test(target);
    recent = `${recent.slice(0, label)}${pictures} <${is_swapped ? shown : target}> `;
    from = end + 1;
    if (recent.length <= 2 * MAX_LABEL_CHARS) continue;
    done.push(recent.slice(0, -MAX_LABEL_CHARS));
    recent = recent.slice(-MAX_LABEL_CHARS);
  }
  return from === 0 ? text : `${done.join('')}${recent}${text.slice(from)}`;
}

/** Whether a text ends in a URL that goes on. */
function isInsideUrl(text: string): boolean {
  if (!'/=&?'.includes(text.at(-1) ?? ' ')) return false;
  const word = text.slice(Math.max(text.lastIndexOf(' '), text.lastIndexOf('\n'), text.lastIndexOf('<')) + 1);
  return word.includes('://') || word.toLowerCase().startsWith('www.');
}

/** Where the label that ends here began: its `[`, or the `!` of a picture. */
function startOfLabel(text: string): number {
  let depth = 1;
  const first = Math.max(0, text.length - MAX_LABEL_CHARS);
  for (let at = text.length - 1; at >= first; at--) {
    if (text[at] === ']') depth++;
    else if (text[at] === '[' && --depth === 0) return text[at - 1] === '!' ? at - 1 : at;
  }
  return text.length;
}

/** The place of the `)` that closes the target; -1 without one on the line. */
function endOfTarget(text: string, start: number): number {
  let depth = 1;
  const last = Math.min(text.length, start + MAX_TARGET_CHARS);
  for (let at = start; at < last; at++) {
    const c = text[at];
    if (c === '\n') return -1;
    if (c === '(') depth++;
    else if (c === ')' && --depth === 0) return at;
  }
  return -1;
}

/** The target without its title and angle brackets, in which it may have spaces. */
function targetOf(text: string): string {
  const trimmed = text.trim();
  const bracketed = /^<([^<>\n]*)>/.exec(trimmed)?.[1];
  if (bracketed !== undefined) return bracketed.trim().replaceAll(' ', '%20');
  const title = trimmed.search(/\s["'(]/);
  return (title === -1 ? trimmed : trimmed.slice(0, title)).replace(/^<|>$/g, '');
}
