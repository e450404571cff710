// Submitted URLs without the passwords in them, which no request needs: the checker sends none.

/** Addresses of people and phones: what stands before their @ is no user with a password. */
const OF_ADDRESSES: ReadonlySet<string | undefined> = new Set(['mailto:', 'sip:', 'sips:', 'xmpp:', 'acct:', 'tel:']);

/** Where another URL begins in a text: the parser would take it for the end of the one before. */
const NEXT_URL = /(?<=[\s,;|])(?=(?:[a-z][a-z0-9+.-]{0,20}:)?\/\/)/i;

/**
 * The text, with no password before the @ of a URL in it; the user stays. A URL that has one is in the parser's form afterwards.
 * @example withoutPassword('https://ada:secret@example.com/a') // 'https://ada@example.com/a'
 */
export function withoutPassword(text: string): string {
  return /[@＠]/.test(text) ? text.split(NEXT_URL).map(withoutFirst).join('') : text;
}

function withoutFirst(text: string): string {
  const parsed = URL.parse(text);
  if (parsed !== null && parsed.host !== '') {
    if (parsed.password === '') return text;
    parsed.password = '';
    return parsed.href + text.slice(text.trimEnd().length);
  }
  return OF_ADDRESSES.has(parsed?.protocol) ? text : text.replaceAll(/[^\s"<>]+/g, withoutPasswords);
}

/** Authorities and the other parts of a URL, with what ends each. */
const PARTS = /[^/\\?#]+|[/\\?#]/g;
const isPort = (text: string) => /^\d*$/.test(text);
const lastAt = (text: string) => Math.max(text.lastIndexOf('@'), text.lastIndexOf('＠'));

/** For a word that is no URL, and may hold some: drops what stands between a colon and the last @ of each authority. */
function withoutPasswords(word: string): string {
  const last = lastAt(word);
  if (last < 0) return word;
  let shown = '';
  for (const { 0: part, index } of word.matchAll(PARTS)) {
    const [colon, at] = [part.search(/[:：]/), lastAt(part)];
    // A slash, a question mark or a hash in a password ends its authority too early.
    if (at < 0 && colon >= 0 && last > index && word.endsWith('//', index) && !isPort(part.slice(colon + 1)))
      return shown + part.slice(0, colon) + word.slice(last);
    shown += colon >= 0 && colon < at ? part.slice(0, colon) + part.slice(at) : part;
  }
  return shown;
}
