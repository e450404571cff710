// Makes XML that tools write badly well-formed: a bare `&`, entities that HTML has and XML has not, control characters.
import { decodeHTML } from 'entities';

const OPEN_CDATA = '<![CDATA[';
const CLOSE_CDATA = ']]>';
const MARK = /<!\[CDATA\[|\]\]>|&(?:#\d{1,7};|#x[\da-f]{1,6};|[a-z][a-z\d]{0,31};)?/gi;
/** The longest mark that may begin at the end of a piece. */
const MARK_CHARS = 40;
const ENTITY = /^&(?:#\d+|#x[\da-f]+|lt|gt|amp|quot|apos);$/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: XML has no place for them
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;
const ESCAPED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;' };

/** The same text in pieces without what no XML may hold; sections of CDATA stay as they are. */
export async function* withoutLooseEntities(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  let is_cdata = false;
  let declares = false;
  const mended = (text: string) =>
    text.replace(CONTROL, ' ').replace(MARK, (mark) => {
      if (mark === OPEN_CDATA || mark === CLOSE_CDATA) is_cdata = mark === OPEN_CDATA;
      return is_cdata || !mark.startsWith('&') ? mark : entity(mark, declares);
    });
  for await (const piece of pieces) {
    const text = rest + piece;
    const end = endOfMarks(text);
    rest = text.slice(end);
    declares ||= text.includes('<!ENTITY');
    if (end > 0) yield mended(text.slice(0, end));
  }
  if (rest !== '') yield mended(rest);
}

/** `declares`: whether the document has entities of its own, which the parser refuses. */
function entity(mark: string, declares: boolean): string {
  if (mark === '&') return '&amp;';
  // The reference of a control character is as wrong as the character.
  const text = decodeHTML(mark).replace(CONTROL, ' ');
  if (ENTITY.test(mark) && text !== ' ') return mark.toLowerCase().startsWith('&#') ? mark.toLowerCase() : mark;
  if (declares && text === mark) return mark;
  return text.replace(/[&<]/g, (char) => ESCAPED[char]!);
}

/** Where the text may be cut without cutting a mark. */
function endOfMarks(text: string): number {
  const last = Math.max(0, text.length - MARK_CHARS);
  const tail = text.slice(last);
  const begun = Math.max(tail.lastIndexOf('&'), tail.lastIndexOf('<'), tail.search(/\]{1,2}$/));
  return begun === -1 ? text.length : last + begun;
}
