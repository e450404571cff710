// Pages that sound like missing ones, in charsets and forms that people have met.
import { type LabCase, PAGE, page, site } from '../case.ts';

const titled = (title: string, more = '') =>
  `<!doctype html><html><head>${more}<title>${title}</title></head><body><h1>${title}</h1><p>Nothing to see.</p></body></html>`;
const soft = { expected: '200 soft_404' };
const shown = (name: string, body: string | Buffer, more: Partial<LabCase> = {}, lines = ''): LabCase => {
  return { name: `page-${name}`, answer: page(lines, body), expected: '200 ok', ...more };
};
/** A Content-Type beside the usual one would be a second one, so the page is answered in bytes. */
const typed = (name: string, type: string, body: Buffer, more: Partial<LabCase> = {}): LabCase => ({
  name: `page-${name}`,
  answer: (_asked, socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`);
    socket.write(body);
  },
  expected: '200 ok',
  ...more,
});
/** At an address of its own, on a site that knows no other. */
const discussion = (name: string, body: string, path: string): LabCase => {
  return { name: `page-${name}`, path, answer: site(page('', body), path), expected: '200 ok' };
};
const latin1 = (text: string) => Buffer.from(text, 'latin1');
const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');
const LONG = '<p>An honest sentence about how servers answer, with words of its own. </p>'.repeat(80);

export const PAGES: readonly LabCase[] = [
  shown('missing', titled('Page not found'), soft),
  typed('latin1-by-header', 'text/html; charset=ISO-8859-1', latin1(titled('P\xe1gina no encontrada')), soft),
  typed('charset-quoted', 'text/html; charset="iso-8859-1"', latin1(titled('P\xe1gina no encontrada')), soft),
  typed('charset-single-quoted', "text/html; charset='iso-8859-1'", latin1(titled('P\xe1gina no encontrada')), soft),
  typed('charset-spaces', 'text/html ; charset = iso-8859-1', latin1(titled('P\xe1gina no encontrada')), soft),
  typed('charset-upper', 'TEXT/HTML;CHARSET=ISO-8859-1', latin1(titled('P\xe1gina no encontrada')), soft),
  typed('charset-meta', 'text/html', latin1(titled('P\xe1gina no encontrada', '<meta charset=latin1>')), soft),
  typed('charset-none', 'text/html', latin1(titled('P\xe1gina no encontrada')), soft),
  typed('charset-unknown', 'text/html; charset=fish', Buffer.from(titled('Página no encontrada')), soft),
  typed('charset-utf-16', 'text/html', utf16(titled('Page not found')), soft),
  typed(
    'charset-shift-jis',
    'text/html; charset=Shift_JIS',
    latin1(titled('\x83y\x81[\x83W\x82\xaa\x8c\xa9\x82\xc2\x82\xa9\x82\xe8\x82\xdc\x82\xb9\x82\xf1')),
    soft,
  ),
  shown('title-entities', titled('Page&nbsp;not&#32;found'), soft),
  shown('title-broken-lines', titled('Page\n   not\r\n\tfound'), soft),
  shown('xhtml', titled('Page not found').replace('<html>', '<html xmlns="http://www.w3.org/1999/xhtml">'), soft),
  discussion('issue', titled('Page not found after the update'), '/project/issues/42'),
  discussion('question', titled('How do I fix "404 Not Found" in nginx?') + LONG, '/questions/42/how-do-i-fix'),
  discussion('thread', titled('404 not found') + LONG, '/viewtopic.php?t=42'),
  shown('long-guide', titled('The 404 page: how to write one') + LONG),
  shown('no-words', '<!doctype html><title>App</title><div id=root></div>'),
  shown('plain', PAGE),
];
