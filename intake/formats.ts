// The formats of a list of URLs. Every help, page, document and error takes their names from this table; `open-sheet.ts` has their readers.

interface Format {
  /** As a list of formats names it. */
  name: string;
  /** The usual endings of its files. They decide nothing: the content does. */
  endings: readonly string[];
  /** What is read of it, for the reference. */
  means: string;
}

export const FORMATS = {
  csv: { name: 'CSV', endings: ['csv', 'tsv', 'tab'], means: 'a table or a list, one entry a line' },
  text: {
    name: 'text or Markdown',
    endings: ['txt', 'md', 'rst', 'adoc', 'org', 'tex', 'bib', 'ris', 'url', 'ics', 'vcf'],
    means: 'prose, Markdown or another markup, a calendar or contacts, out of whose lines the URLs are taken',
  },
  xlsx: { name: 'XLSX', endings: ['xlsx', 'xlsm'], means: 'an Excel workbook' },
  ods: { name: 'ODS', endings: ['ods'], means: 'an OpenDocument spreadsheet' },
  json: { name: 'JSON', endings: ['json', 'jsonl', 'ndjson', 'har'], means: 'JSON, JSON lines, bookmarks, HAR' },
  sitemap: { name: 'sitemap', endings: ['xml'], means: 'a sitemap, or an index of sitemaps' },
  feed: {
    name: 'RSS, Atom or OPML',
    endings: ['rss', 'atom', 'opml', 'webloc'],
    means: 'the links of the entries of a feed, an outline or an export of WordPress',
  },
  xml: {
    name: 'Excel 2003 XML, FODS, XBEL or KML',
    endings: ['fods', 'xbel', 'kml', 'gpx'],
    means: 'the links and the URLs in the text of a spreadsheet, of bookmarks, of a map, of references or of a wiki',
  },
  html: { name: 'HTML', endings: ['html', 'htm', 'xhtml'], means: 'a page, or bookmarks as browsers export them' },
  document: {
    name: 'Word, PowerPoint or OpenDocument text',
    endings: ['docx', 'pptx', 'odt', 'odp'],
    means: 'the links and the URLs in the text of a document or a presentation',
  },
  pdf: { name: 'PDF', endings: ['pdf'], means: 'the links of a document, not the URLs that are mere text' },
  mail: {
    name: 'e-mail',
    endings: ['eml', 'mbox', 'mht', 'mhtml'],
    means: 'the links and the URLs in the text of mails',
  },
} as const satisfies Readonly<Record<string, Format>>;

export type SheetFormat = keyof typeof FORMATS;
export const SHEET_FORMATS = Object.keys(FORMATS) as readonly SheetFormat[];

/** What wraps files of these formats. */
const WRAPPERS = ['gz', 'zip'];

const NAMES = Object.values(FORMATS).map(({ name }) => name);
/** All of them, as a sentence lists them. */
export const listOfFormats = (): string => `${NAMES.slice(0, -1).join(', ')}, or ${NAMES.at(-1)}; also in gzip or ZIP`;

/** Whether a file is named like one that is read. */
export const isNamedLikeList = (name: string): boolean =>
  name.includes('.') && LIST_ENDINGS.includes(name.slice(name.lastIndexOf('.') + 1).toLowerCase());

/** The usual endings of files that are read. */
const LIST_ENDINGS: readonly string[] = [
  ...Object.values(FORMATS).flatMap(({ endings }): readonly string[] => endings),
  ...WRAPPERS,
];
