// Holds what a command printed to what a guide shows: the same, but for what is another each time, which is of the same
// kind, and for what the guide leaves out.

export interface Output {
  is_json: boolean;
  text: string;
}

/** Which id of the guide is which here, and the other way round: filled as a guide is gone through. */
export interface Names {
  here: Map<string, string>;
  shown: Map<string, string>;
}

interface Kind {
  pattern: string;
  /** Only after this. */
  after?: string;
  /** Names something: the same one in the guide is the same one here, and another is another. */
  is_name?: true;
}

/** What is another in each run. The first that fits is taken. */
const KINDS: readonly Kind[] = [
  { pattern: 'eyJ[\\w-]+\\.[\\w-]+\\.[\\w-]+', is_name: true },
  { pattern: '(?:uc_live_|whsec_)[A-Za-z0-9_+/=-]{16,}', is_name: true },
  // The same key, shortened.
  { pattern: 'uc_live_[\\w-]{4}', is_name: true },
  { pattern: '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}', is_name: true },
  { pattern: '[0-9a-f]{64}', is_name: true },
  { pattern: '[0-9a-f]{32}', is_name: true },
  { pattern: '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?Z' },
  { pattern: '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \\d\\d \\w{3} \\d{4} \\d\\d:\\d\\d:\\d\\d GMT' },
  { pattern: '[\\w-]+', after: 'signature=' },
  { pattern: '\\d{10}', after: '(?:expires|\\bt)=' },
  { pattern: '\\d+', after: '"\\w*_ms":' },
  { pattern: '[\\w.:-]+', after: '(?:x-log-position|X-Log-Position): ' },
  // Tokens of shares, and entity tags.
  { pattern: '[\\w-]{43}', is_name: true },
  { pattern: 'W/"[\\w-]{27}"', is_name: true },
];
const ANY_KIND = new RegExp(
  KINDS.map(({ pattern, after }) => {
    const is_word = /^\W/.test(pattern) === false;
    return `${after === undefined ? (is_word ? '(?<![\\w-])' : '') : `(?<=${after})`}(${pattern})(?![\\w-])`;
  }).join('|'),
  'g',
);

/** What differs, or null. `shown` null: nothing is to be printed. */
export function differenceOf(shown: Output | null, printed: string, names: Names): string | null {
  if (shown === null) return printed === '' ? null : 'it prints something, and the guide shows nothing';
  if (!shown.is_json) return textDifference(shown.text.trimEnd(), printed.trimEnd(), names);
  let value: unknown;
  try {
    value = JSON.parse(printed);
  } catch {
    return 'what it prints is not JSON';
  }
  return jsonDifference(JSON.parse(shown.text), value, names, { at: '$', is_measured: false });
}

const MORE = '…';

function jsonDifference(
  shown: unknown,
  value: unknown,
  names: Names,
  { at, is_measured }: { at: string; is_measured: boolean },
): string | null {
  const differs = () => `${at} is ${JSON.stringify(value)}, and the guide shows ${JSON.stringify(shown)}`;
  const within = (key: string | number) => ({
    at: typeof key === 'number' ? `${at}[${key}]` : `${at}.${key}`,
    is_measured: is_measured || String(key).endsWith('_ms'),
  });
  if (typeof shown === 'string' && typeof value === 'string') {
    return textDifference(shown, value, names) === null ? null : differs();
  }
  if (typeof shown === 'number' && typeof value === 'number') return is_measured || shown === value ? null : differs();
  if (Array.isArray(shown) && Array.isArray(value)) {
    const items = shown.at(-1) === MORE ? shown.slice(0, -1) : shown;
    if (items === shown ? value.length !== items.length : value.length <= items.length) {
      return `${at} has ${value.length} items, and the guide shows ${items.length}`;
    }
    return firstOf(items.keys(), (n) => jsonDifference(items[n], value[n], names, within(n)));
  }
  if (isObject(shown) && isObject(value)) {
    const { [MORE]: more, ...fields } = shown;
    const others = Object.keys(value).filter((key) => !Object.hasOwn(fields, key));
    if (more === undefined ? others.length > 0 : others.length === 0) {
      return `${at} has ${more === undefined ? 'also' : 'nothing but'} ${(more === undefined ? others : Object.keys(value)).join(', ')}`;
    }
    return firstOf(Object.keys(fields), (key) =>
      Object.hasOwn(value, key) ? jsonDifference(fields[key], value[key], names, within(key)) : `${at} has no ${key}`,
    );
  }
  return shown === value ? null : differs();
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function firstOf<T>(items: Iterable<T>, difference: (item: T) => string | null): string | null {
  for (const item of items) {
    const found = difference(item);
    if (found !== null) return found;
  }
  return null;
}

function textDifference(shown: string, printed: string, names: Names): string | null {
  const { pattern, found } = patternOf(shown);
  // What a terminal does not show: the byte order mark of a CSV, and how its lines end.
  const match = pattern.exec(printed.replace(/^\ufeff/, '').replaceAll('\r\n', '\n'));
  if (!match) return `it does not print what the guide shows:\n${shown}`;
  return firstOf(found.entries(), ([n, { text, is_name }]) => {
    const here = match[n + 1]!;
    if (!is_name) return null;
    if ((names.here.get(text) ?? here) !== here)
      return `${text} of the guide is ${here} now; it was ${names.here.get(text)}`;
    if ((names.shown.get(here) ?? text) !== text)
      return `${here} is ${text} in the guide; it was ${names.shown.get(here)}`;
    names.here.set(text, here);
    names.shown.set(here, text);
    return null;
  });
}

/** The text as a pattern, with a group for each thing in it that is another each time. */
function patternOf(shown: string): { pattern: RegExp; found: { text: string; is_name: boolean }[] } {
  const found: { text: string; is_name: boolean }[] = [];
  let source = '';
  let end = 0;
  for (const match of shown.matchAll(ANY_KIND)) {
    const kind = KINDS[match.slice(1).findIndex((group) => group !== undefined)]!;
    source += literal(shown.slice(end, match.index)) + `(${kind.pattern})`;
    found.push({ text: match[0], is_name: kind.is_name === true });
    end = match.index + match[0].length;
  }
  return { pattern: new RegExp(`^${source}${literal(shown.slice(end))}$`), found };
}

const literal = (text: string) =>
  text
    .replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
    // A line of its own stands for any number of lines.
    .replace(/(?<=^|\n)…(?:\n|$)/g, '(?:.*(?:\\n|$))*?')
    .replaceAll(MORE, '.*?');
