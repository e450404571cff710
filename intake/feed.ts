// Reads XML with URLs in it: sitemaps (sitemaps.org), RSS and WordPress's exports of it, Atom, OPML, and the shortcuts of macOS. Nothing
// is fetched: the entries of an index of sitemaps are URLs of sitemaps. Of spreadsheets, bookmarks and maps in XML it takes the links and the
// URLs in the text.
import { isAttempt, urlsInCell } from './cell-urls.ts';
import { IntakeError, WHAT_IS_READ } from './errors.ts';
import { parseLooseXml } from './loose-xml.ts';
import { type Cell, listSheet, type OpenedText, type Sheet, type Warning } from './sheet.ts';
import { readText } from './text-source.ts';
import { attributeOf } from './xml.ts';

/** Where a kind of XML has its URLs. */
interface XmlKind {
  format: 'sitemap' | 'feed' | 'xml';
  warning?: Warning;
  /** The elements that are rows. */
  entries: ReadonlySet<string>;
  /** Whether the text of an element is a URL, by its name and the one it stands in. */
  isText(name: string, parent: string, attributes: Record<string, string>): boolean;
  /** The URLs in the attributes of an element. */
  ofAttributes?(name: string, attributes: Record<string, string>): readonly (string | undefined)[];
  /** The elements in the texts of whose attributes URLs may stand, also in markup. */
  texts_of?: string;
  /** Whether a URL outside of entries has its line for a row. */
  has_lines?: true;
  /** Whether the texts hold URLs among other words. */
  has_texts?: true;
}

const located = (entry: string): Pick<XmlKind, 'entries' | 'isText'> => ({
  entries: new Set([entry]),
  isText: (name, parent) => name === 'loc' && parent === entry,
});
const RSS: XmlKind = {
  format: 'feed',
  entries: new Set(['item', 'channel']),
  isText: (name, parent, { isPermaLink = 'true' }) =>
    (name === 'link' && (parent === 'item' || parent === 'channel')) ||
    (name === 'guid' && parent === 'item' && isPermaLink === 'true'),
  ofAttributes: (name, { url }) => (name === 'enclosure' ? [url] : []),
};
/** Relations of a link of Atom that lead to what the entry is about (RFC 4287, 4.2.7.2). */
const ENTRY_RELATIONS = new Set(['alternate', 'enclosure', 'related', 'via']);
/** The links and the URLs in the text, wherever they stand. */
const WHOLE: XmlKind = {
  format: 'xml',
  has_texts: true,
  has_lines: true,
  entries: new Set(['Row', 'table-row']),
  isText: () => true,
  ofAttributes: (_name, { href, HRef, htmlUrl, xmlUrl, url }) => [href, HRef, htmlUrl, xmlUrl, url],
};
/** The texts of the pages of a wiki, which also names its own pages. */
const WIKI: XmlKind = {
  format: 'xml',
  has_texts: true,
  entries: new Set(['page']),
  isText: (name) => name === 'text',
};
const KINDS: Readonly<Record<string, XmlKind>> = {
  urlset: { format: 'sitemap', ...located('url') },
  sitemapindex: { format: 'sitemap', warning: 'sitemap_index', ...located('sitemap') },
  rss: RSS,
  // Zotero exports references so.
  RDF: {
    ...RSS,
    has_lines: true,
    isText: (name, parent, of) => (name === 'value' && parent === 'URI') || RSS.isText(name, parent, of),
  },
  feed: {
    format: 'feed',
    entries: new Set(['entry']),
    isText: () => false,
    ofAttributes: (name, { rel = 'alternate', href }) => (name === 'link' && ENTRY_RELATIONS.has(rel) ? [href] : []),
  },
  opml: {
    format: 'feed',
    entries: new Set(['outline']),
    // Markup and quotes that are not escaped end a tag too early: what follows is text, and elements of HTML.
    isText: (name) => name === 'outline',
    ofAttributes: (name, { htmlUrl, xmlUrl, url, href }) =>
      name === 'outline' ? [htmlUrl, xmlUrl, url] : name === 'a' ? [href] : [],
    texts_of: 'outline',
  },
  plist: {
    format: 'feed',
    entries: new Set(['dict']),
    isText: (name, parent) => name === 'string' && (parent === 'dict' || parent === 'array'),
  },
  // Excel 2003, flat OpenDocument, and the others by their names.
  Workbook: WHOLE,
  document: WHOLE,
  xbel: WHOLE,
  kml: WHOLE,
  gpx: WHOLE,
  mediawiki: WIKI,
  // References as EndNote exports them.
  xml: { ...WHOLE, entries: new Set(['record']) },
};
/** Attributes that hold URLs may have a prefix, which these lack. */
const ATTRIBUTES = ['rel', 'href', 'HRef', 'htmlUrl', 'xmlUrl', 'url'];

/** Throws `not_a_table` for XML of another kind. */
export async function openFeed(file: OpenedText): Promise<Sheet> {
  const root = await rootOf(file);
  const kind = root !== null && Object.hasOwn(KINDS, root) ? KINDS[root]! : null;
  if (kind === null) {
    const name = root === null ? 'XML without an element' : `XML of a kind that is not read (<${root.slice(0, 40)}>)`;
    throw new IntakeError('not_a_table', `The file is ${name}. ${WHAT_IS_READ}`);
  }
  return listSheet(file, {
    format: kind.format,
    warnings: kind.warning ? [kind.warning] : [],
    cells: () => cellsOf(file, kind),
  });
}

async function rootOf({ source, encoding }: OpenedText): Promise<string | null> {
  let root: string | null = null;
  const parsing = parseLooseXml(readText(source, encoding), { open: (name) => void (root ??= name) }, refuse);
  for await (const _ of parsing) if (root !== null) return root;
  return root;
}

const MAX_TEXT_CHARS = 1_000_000;

async function* cellsOf({ source, encoding, limits }: OpenedText, kind: XmlKind): AsyncGenerator<Cell[]> {
  /** The names of the open elements. */
  const path: string[] = [];
  let row = 0;
  let page: Cell[] = [];
  let value: string | null = null;
  /** The line of the last element, which is the row where the kind has no entries. */
  let line_of_element = 1;
  const { has_texts = kind.texts_of !== undefined } = kind;
  const max_text_chars = has_texts ? MAX_TEXT_CHARS : limits.max_url_chars;
  const add = (text: string) => {
    const url = text.trim();
    if (url !== '' && (kind.format === 'sitemap' || url.includes(':')))
      page.push({ row: row > 0 ? row : kind.has_lines ? line_of_element : 1, value: url });
  };
  const endText = () => {
    if (value === null) return;
    if (!has_texts) add(value);
    // A link may show its URL as its text.
    else for (const url of urlsIn(value)) if (url !== page.at(-1)?.value) add(url);
    value = null;
  };
  const parsing = parseLooseXml(
    readText(source, encoding),
    {
      open(name, attributes, line) {
        if (has_texts) endText();
        line_of_element = line;
        if (kind.entries.has(name)) row++;
        value = kind.isText(name, path.at(-1) ?? '', attributes) ? '' : null;
        const named = Object.fromEntries(ATTRIBUTES.map((one) => [one, attributeOf(attributes, one)]));
        const urls = new Set(kind.ofAttributes?.(name, named as Record<string, string>) ?? []);
        if (name === kind.texts_of)
          for (const value of Object.values(attributes)) for (const url of urlsIn(value)) urls.add(url);
        for (const url of urls) add(url ?? '');
        path.push(name);
      },
      text(text) {
        if (value !== null && value.length <= max_text_chars) value += text;
      },
      close() {
        endText();
        if (has_texts) value = '';
        path.pop();
      },
    },
    refuse,
  );
  for await (const _ of parsing) {
    if (page.length > 0) yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

/** The URLs in a text. */
const urlsIn = (text: string): string[] =>
  text.includes('://') || text.includes('www.') ? urlsInCell(text).texts.filter(isAttempt) : [];

function refuse(detail: string): never {
  throw new IntakeError('broken_file', `The XML is not well-formed (${detail}). Make the file again.`);
}
