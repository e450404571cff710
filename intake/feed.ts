// Reads XML with URLs in it: sitemaps (sitemaps.org), RSS and WordPress's exports of it, Atom, OPML, and the shortcuts of macOS. Nothing
// is fetched: the entries of an index of sitemaps are URLs of sitemaps.
import { IntakeError, WHAT_IS_READ } from './errors.ts';
import { type Cell, listSheet, type OpenedText, type Sheet, type Warning } from './sheet.ts';
import { readText } from './text-source.ts';
import { attributeOf, parseXml } from './xml.ts';

/** Where a kind of XML has its URLs. */
interface XmlKind {
  format: 'sitemap' | 'feed';
  warning?: Warning;
  /** The elements that are rows. */
  entries: ReadonlySet<string>;
  /** Whether the text of an element is a URL, by its name and the one it stands in. */
  isText(name: string, parent: string, attributes: Record<string, string>): boolean;
  /** The URLs in the attributes of an element. */
  ofAttributes?(name: string, attributes: Record<string, string>): readonly (string | undefined)[];
}

const located = (entry: string): Pick<XmlKind, 'entries' | 'isText'> => ({
  entries: new Set([entry]),
  isText: (name, parent) => name === 'loc' && parent === entry,
});
const RSS: XmlKind = {
  format: 'feed',
  entries: new Set(['item', 'channel']),
  isText: (name, parent) => name === 'link' && (parent === 'item' || parent === 'channel'),
};
const KINDS: Readonly<Record<string, XmlKind>> = {
  urlset: { format: 'sitemap', ...located('url') },
  sitemapindex: { format: 'sitemap', warning: 'sitemap_index', ...located('sitemap') },
  rss: RSS,
  RDF: RSS,
  feed: {
    format: 'feed',
    entries: new Set(['entry']),
    isText: () => false,
    ofAttributes: (name, { rel = 'alternate', href }) => (name === 'link' && rel === 'alternate' ? [href] : []),
  },
  opml: {
    format: 'feed',
    entries: new Set(['outline']),
    isText: () => false,
    ofAttributes: (name, { htmlUrl, xmlUrl, url }) => (name === 'outline' ? [htmlUrl, xmlUrl, url] : []),
  },
  plist: {
    format: 'feed',
    entries: new Set(['dict']),
    isText: (name, parent) => name === 'string' && parent === 'dict',
  },
};
/** Attributes that hold URLs may have a prefix, which these lack. */
const ATTRIBUTES = ['rel', 'href', 'htmlUrl', 'xmlUrl', 'url'];

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
  const parsing = parseXml(readText(source, encoding), { open: (name) => void (root ??= name) }, refuse);
  for await (const _ of parsing) if (root !== null) return root;
  return root;
}

async function* cellsOf({ source, encoding, limits }: OpenedText, kind: XmlKind): AsyncGenerator<Cell[]> {
  /** The names of the open elements. */
  const path: string[] = [];
  let row = 0;
  let page: Cell[] = [];
  let value: string | null = null;
  const add = (text: string) => {
    const url = text.trim();
    if (url !== '' && (kind.format === 'sitemap' || url.includes(':')))
      page.push({ row: Math.max(1, row), value: url });
  };
  const parsing = parseXml(
    readText(source, encoding),
    {
      open(name, attributes) {
        if (kind.entries.has(name)) row++;
        value = kind.isText(name, path.at(-1) ?? '', attributes) ? '' : null;
        const named = Object.fromEntries(ATTRIBUTES.map((one) => [one, attributeOf(attributes, one)]));
        for (const url of kind.ofAttributes?.(name, named as Record<string, string>) ?? []) add(url ?? '');
        path.push(name);
      },
      text(text) {
        if (value !== null && value.length <= limits.max_url_chars) value += text;
      },
      close() {
        if (value !== null) add(value);
        value = null;
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

function refuse(detail: string): never {
  throw new IntakeError('broken_file', `The XML is not well-formed (${detail}). Make the file again.`);
}
