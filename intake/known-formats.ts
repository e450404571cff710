// Names the format of an uploaded file by its content. The file's name decides nothing.

import { IntakeError, WHAT_IS_READ } from './errors.ts';
import type { TextEncoding } from './text-encoding.ts';

/** What to do with a file that another program can save in a format that is read. */
const SAVE_AS = (format: string) => `Open it in its program, and save it as ${format}.`;

/** The formats that are not read, by their first bytes (latin1). */
const SIGNATURES: readonly (readonly [bytes: string, name: string, advice?: string])[] = [
  ['\x89PNG', 'a PNG picture'],
  ['\xff\xd8\xff', 'a JPEG picture'],
  ['GIF8', 'a GIF picture'],
  ['RIFF', 'a WebP picture, or a sound or a film'],
  ['II*\0', 'a TIFF picture'],
  ['MM\0*', 'a TIFF picture'],
  ['%PDF-', 'a PDF document in a gzip file or an archive', 'Unpack it, and upload the document.'],
  ['{\\rtf', 'an RTF document', SAVE_AS('a Word document (.docx) or as text')],
  ['\x1f\x8b', 'a gzip file in another gzip file', 'Unpack it, and upload what is in it.'],
  ['BZh', 'a bzip2 file', 'Unpack it, and upload what is in it.'],
  ['\xfd7zXZ', 'an xz file', 'Unpack it, and upload what is in it.'],
  ['\x28\xb5\x2f\xfd', 'a Zstandard file', 'Unpack it, and upload what is in it.'],
  ['7z\xbc\xaf', 'a 7z archive', 'Unpack it, and upload the lists in it.'],
  ['Rar!', 'a RAR archive', 'Unpack it, and upload the lists in it.'],
  ['\x09\x00\x04\x00', 'an old Excel workbook (.xls)', SAVE_AS('XLSX')],
  ['\x09\x02\x06\x00', 'an old Excel workbook (.xls)', SAVE_AS('XLSX')],
  ['\x09\x04\x06\x00', 'an old Excel workbook (.xls)', SAVE_AS('XLSX')],
  ['\x09\x08', 'an old Excel workbook (.xls)', SAVE_AS('XLSX')],
  ['SQLite format 3', 'an SQLite database', 'Export the table with the URLs as CSV.'],
  ['PAR1', 'a Parquet file', 'Save it as CSV.'],
  ['ARROW1', 'an Arrow or Feather file', 'Save it as CSV.'],
  ['Obj\x01', 'an Avro file', 'Save it as CSV or JSON lines.'],
  ['ORC', 'an ORC file', 'Save it as CSV.'],
  ['\x89HDF', 'an HDF5 file', 'Save it as CSV.'],
  ['$FL2', 'an SPSS file', SAVE_AS('CSV')],
  ['<stata_dta>', 'a Stata file', SAVE_AS('CSV')],
  ['RDX', 'an R data file', 'Save it as CSV.'],
  ['bplist00', 'a binary property list', 'Convert it to XML: `plutil -convert xml1 FILE`.'],
  ['\x7fELF', 'a program'],
  ['MZ\x90', 'a program'],
];

const COMPOUND = '\xd0\xcf\x11\xe0';
/** Documents of old Office programs and of Outlook, by a name in their directory, in UTF-16. */
const COMPOUNDS: readonly (readonly [entry: string, name: string, advice: string])[] = [
  ['EncryptedPackage', 'protected by a password', 'Save it without one.'],
  ['PowerPoint Document', 'an old PowerPoint presentation (.ppt)', SAVE_AS('PPTX')],
  ['WordDocument', 'an old Word document (.doc)', SAVE_AS('a Word document (.docx)')],
  ['Workbook', 'an old Excel workbook (.xls)', SAVE_AS('XLSX')],
  ['Book', 'an old Excel workbook (.xls)', SAVE_AS('XLSX')],
  ['__properties_version', 'a message of Outlook (.msg)', SAVE_AS('an e-mail (.eml)')],
];

/** ZIP archives that are no workbook, by a part of theirs, in lower case. */
const ARCHIVES: readonly (readonly [part: string, name: string, advice?: string])[] = [
  ['xl/workbook.bin', 'a binary Excel workbook (.xlsb)', SAVE_AS('XLSX')],
  ['index/document.iwa', 'a Numbers, Pages or Keynote document', 'Export it from its program as XLSX, DOCX or PPTX.'],
  ['index.zip', 'a Numbers, Pages or Keynote document', 'Export it from its program as XLSX, DOCX or PPTX.'],
  ['content.xml', 'an OpenDocument file other than a spreadsheet, a text or a presentation'],
  ['meta-inf/container.xml', 'an EPUB book', 'Unpack it, and upload its pages as HTML.'],
];

export const notRead = (name: string, advice = WHAT_IS_READ) =>
  new IntakeError('not_a_table', `The file is ${name}, which is not read. ${advice}`);

/** What DOS, and Windows after it, writes behind a text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is one
const DOS_END = /\u001a\s{0,8}$/;

export const isZip = (head: Buffer): boolean => head.toString('latin1', 0, 2) === 'PK' && head[2]! < 9 && head[3]! < 9;
export const isPdf = (head: Buffer): boolean => head.toString('latin1', 0, 1024).trimStart().startsWith('%PDF-');
export const isGzip = (head: Buffer): boolean => head[0] === 0x1f && head[1] === 0x8b && head[2] === 8;

/** The error for an archive without a workbook. `has`: whether it has a part of this name. */
export function unreadArchive(has: (part: string) => boolean): IntakeError {
  const known = ARCHIVES.find(([part]) => has(part));
  return known
    ? notRead(known[1], known[2])
    : notRead('a ZIP archive', `Unpack it and upload the lists in it. ${WHAT_IS_READ}`);
}

/** Throws `not_a_table`, with the name of the format, for a file whose first bytes are not text. */
export function assertText(head: Buffer, text: string): void {
  const start = head.toString('latin1', 0, 16);
  const known = SIGNATURES.find(([bytes]) => start.startsWith(bytes));
  if (known) throw notRead(known[1], known[2]);
  if (start.startsWith(COMPOUND)) throw compound(head);
  if (isZip(head)) throw notRead('a ZIP archive or a workbook in a gzip file');
  if (head.toString('latin1', 257, 262) === 'ustar') throw notRead('a tar archive');
  // A terminal's output has escape characters.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what tells binary data from text
  const control = text.replace(DOS_END, '').match(/[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/g)?.length ?? 0;
  if (control > text.length / 100) throw notRead('binary data');
}

function compound(head: Buffer): IntakeError {
  const [, name, advice] = COMPOUNDS.find(([entry]) => head.includes(entry, 0, 'utf16le')) ?? [
    '',
    'an old Excel or Word file (.xls, .doc), or protected by a password',
    SAVE_AS('XLSX or DOCX, without a password'),
  ];
  return notRead(name, advice);
}

/** Wiki links begin like lists in lists, templates like objects. */
const JSON_START = /^\s*(?:\{\s*["}]|\[\s*(?:\[\s*)*(?:["\]]|\{\s*["}]|(?:-?\d[\d.eE+-]*|true|false|null)\s*,|$))/;
const XML_START =
  /^\s*<(?:\?xml|(?:!doctype )?(?:[\w-]+:)?(?:urlset|sitemapindex|rss|RDF|feed|opml|plist|Workbook|document|xbel|kml|gpx))[\s>]/i;
/** XML of any other kind: it names its kind by what looks like a URL. */
const NAMESPACED = /^\s*<[a-z][\w:.-]*\s[^<>]*xmlns(?::[\w-]+)?=/i;
const HTML_START =
  /^\s*(?:<!--|<!doctype html|<!doctype netscape|<(?:html|head|body|meta|title|table|tr|td|ul|ol|li|dl|dt|div|p|a|h[1-6]|span|nav|main|section|article)[\s>])/i;

/** Whether a text begins like JSON; Markdown's `[label](…)` does not. */
export const isJson = (text: string, encoding: TextEncoding): boolean =>
  JSON_START.test(text) && encoding.startsWith('utf-');

/** Whether a text begins like XML that is no page; `<https://…>` does not. */
export function isXml(text: string): boolean {
  const markup = withoutComments(text);
  return XML_START.test(markup) ? !isPage(markup) : !HTML_START.test(text) && NAMESPACED.test(text);
}

/** Whether a text that is no XML begins like a page, declared as XML or not. */
export const isHtml = (text: string): boolean =>
  XML_START.test(withoutComments(text)) || (HTML_START.test(text) && !isMarkdown(text));

const isPage = (markup: string): boolean => /<html[\s>]|<!doctype html/i.test(markup.slice(0, 2_000));

/** Whether a text is a calendar or contacts. */
export const isFolded = (text: string): boolean => /^\s*BEGIN:V(?:CALENDAR|CARD)\s/i.test(text);

/** The text behind the comments at its beginning. */
function withoutComments(text: string): string {
  let at = 0;
  for (;;) {
    while (/\s/.test(text[at] ?? '')) at++;
    const end = text.startsWith('<!--', at) ? text.indexOf('-->', at) : -1;
    if (end === -1) return text.slice(at);
    at = end + '-->'.length;
  }
}

/** Markdown may begin with some HTML, such as a picture or a comment, and may have more of it. */
const isMarkdown = (text: string): boolean => MARKDOWN.test(text) && !PAGE.test(text);
const MARKDOWN = /^#{1,6} \S|\]\(https?:\/\/|^\[[^\]\n]{1,200}\]: ?<?https?:/m;
const PAGE = /<!doctype|<html[\s>]|<body[\s>]/i;

const HEADER =
  /^(?:from|to|cc|subject|date|message-id|mime-version|content-type|content-transfer-encoding|received|return-path|delivered-to|reply-to|snapshot-content-location|x-[\w-]+):/i;
const MAIL_ONLY = /^(?:mime-version|content-type|content-transfer-encoding|received|return-path|message-id):/im;

/** Whether a text begins with the headers of a message: at least two, one of which stands in messages alone. */
export function isMail(text: string): boolean {
  const start = text.replace(/^\s+/, '').replace(/^From \S+ .*\r?\n/, '');
  const end = start.search(/\r?\n\r?\n/);
  const head = start.slice(0, end === -1 ? 0 : end);
  const lines = head.split(/\r?\n/).filter((line) => !/^\s/.test(line));
  return (
    lines.length > 1 && lines.every((line) => HEADER.test(line) || /^[\w-]{2,40}:/.test(line)) && MAIL_ONLY.test(head)
  );
}
