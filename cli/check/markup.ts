// Text of websites and files in XML and HTML.
import { escapeUTF8 } from 'entities';

/** Characters that XML 1.0 cannot hold, also as references, and controls that HTML does not allow. */
const IMPOSSIBLE = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]|[\u007f-\u009f]/gu;

/** Escapes text for an element or for an attribute in quotes. A line break in an attribute stays one. */
export function escaped(text: string): string {
  return escapeUTF8(text.toWellFormed().replace(IMPOSSIBLE, '\ufffd')).replace(
    /[\t\n\r]/g,
    (c) => `&#${c.charCodeAt(0)};`,
  );
}
