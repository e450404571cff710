// Finds the target of a page's meta refresh. The outcome reports it; the check does not follow it. The search reads each
// character a few times at most, so that no hostile page makes it slow.
import { decodeHTMLAttribute } from 'entities';
import { decodeLocation, withoutUser } from './redirects.ts';

/** The search ends here, since a meta refresh stands in the head. */
const HEAD_CHARS = 16 * 1024;
const MAX_CONTENT_CHARS = 4096;
const REFRESH = /\shttp-equiv\s{0,9}=\s{0,9}["']?refresh\b/i;
const CONTENT = /\scontent\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s>]+))/i;
const HREF = /\shref\s{0,9}=\s{0,9}["']?([^"'\s>]{1,2048})/i;

/** The http(s) URL of the page's own `<meta http-equiv="refresh">`, or of its Refresh header; null when there is none. */
export function refreshOf(html: string, header: string | undefined, page: URL): string | null {
  const { content, base } = refreshIn(html.slice(0, HEAD_CHARS)) ?? {
    content: header && decodeLocation(header),
    base: undefined,
  };
  const target = content === undefined ? null : targetOf(content.slice(0, MAX_CONTENT_CHARS));
  const url = target === null ? null : URL.parse(target, (base && URL.parse(base, page.href)?.href) ?? page.href);
  return url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') ? null : withoutUser(url).href;
}

/** https://html.spec.whatwg.org/#shared-declarative-refresh-steps */
function targetOf(content: string): string | null {
  const after_time = content.trim().replace(/^[\d.]+/, '');
  if (!/^[;,\s]/.test(after_time)) return null;
  const rest = after_time.trimStart().replace(/^[;,]/, '').trimStart();
  const value = /^url\b/i.test(rest) ? rest.slice(3).trimStart().replace(/^=/, '').trimStart() : rest;
  const quote = value[0];
  const target = quote === '"' || quote === "'" ? value.slice(1).split(quote, 1)[0]! : value;
  return target.trim() === '' ? null : target.trim();
}

/** Tested at the start of a tag. The expressions fold case, because a lower-case copy may be longer than the page. */
const TAG = /<(?:!--|noscript|meta|base(?=\s))/iy;
const END_OF_NOSCRIPT = /<\/noscript/gi;

interface Refresh {
  content: string;
  /** The address of the page's own base before it. */
  base: string | undefined;
}

function refreshIn(head: string): Refresh | null {
  // Nearly all pages have no refresh.
  if (!head.includes('efresh') && !head.includes('EFRESH')) return null;
  let base: string | undefined;
  for (let at = head.indexOf('<'); at >= 0; at = head.indexOf('<', at)) {
    TAG.lastIndex = at;
    if (!TAG.test(head)) {
      at++;
    } else if (TAG.lastIndex === at + '<!--'.length) {
      at = after(head, '-->', at);
    } else if (TAG.lastIndex === at + '<noscript'.length) {
      // Browsers run scripts, so they ignore a refresh inside noscript.
      END_OF_NOSCRIPT.lastIndex = at;
      at = END_OF_NOSCRIPT.test(head) ? END_OF_NOSCRIPT.lastIndex : head.length;
    } else {
      const end = endOfTag(head, at);
      const tag = head.slice(at, end);
      if (/^<base/i.test(tag)) base ??= attributeOf(HREF, tag);
      const content = REFRESH.test(tag) ? attributeOf(CONTENT, tag) : undefined;
      if (content !== undefined) return { content, base };
      at = end;
    }
  }
  return null;
}

/** The value of the attribute that the expression finds, with its entities decoded. */
function attributeOf(attribute: RegExp, tag: string): string | undefined {
  const value = attribute
    .exec(tag)
    ?.slice(1)
    .find((text) => text !== undefined);
  return value === undefined ? undefined : decodeHTMLAttribute(value.slice(0, MAX_CONTENT_CHARS));
}

function after(text: string, end: string, from: number): number {
  const at = text.indexOf(end, from);
  return at < 0 ? text.length : at + end.length;
}

/** The index after the tag that starts at `from`; quotes may hold a `>`. */
function endOfTag(html: string, from: number): number {
  for (let at = from; at < html.length; at++) {
    const char = html[at];
    if (char === '>') return at + 1;
    if (char !== '"' && char !== "'") continue;
    const closing = html.indexOf(char, at + 1);
    if (closing < 0) return html.length;
    at = closing;
  }
  return html.length;
}
