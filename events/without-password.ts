// Submitted URLs without the passwords in them, which no request needs: the checker sends none.

/** Addresses of people and phones: what stands before their @ is no user with a password. */
const OF_ADDRESSES: ReadonlySet<string | undefined> = new Set(['mailto:', 'sip:', 'sips:', 'xmpp:', 'acct:', 'tel:']);

/**
 * The text, with no password before the @ of a URL in it; the user stays. A URL that has one is in the parser's form afterwards.
 * @example withoutPassword('https://ada:secret@example.com/a') // 'https://ada@example.com/a'
 */
export function withoutPassword(text: string): string {
  if (!text.includes('@')) return text;
  const parsed = URL.parse(text);
  if (parsed !== null && parsed.host !== '') {
    // The parser takes what follows the first URL of a text for its path.
    if (parsed.password === '') return text.includes(' ') ? withoutLaterPasswords(text) : text;
    parsed.password = '';
    return parsed.href;
  }
  return OF_ADDRESSES.has(parsed?.protocol) ? text : withoutPasswords(text);
}

const withoutLaterPasswords = (text: string): string =>
  text
    .split(' ')
    .map((word) => (word.includes('//') ? withoutPassword(word) : word))
    .join(' ');

const ENDS_AUTHORITY = new Set('/\\?#"<>');
const isEnd = (character: string) => ENDS_AUTHORITY.has(character) || character.trim() === '';

/** For a text without a URL, and may hold some: drops what stands between a colon and the last @ of each authority. */
function withoutPasswords(text: string): string {
  let shown = '';
  for (let start = 0; start < text.length; ) {
    let end = start;
    while (end < text.length && !isEnd(text[end]!)) end += 1;
    const authority = text.slice(start, end);
    const [colon, at] = [authority.indexOf(':'), authority.lastIndexOf('@')];
    shown += colon >= 0 && colon < at ? authority.slice(0, colon) + authority.slice(at) : authority;
    shown += text.slice(end, end + 1);
    start = end + 1;
  }
  return shown;
}
