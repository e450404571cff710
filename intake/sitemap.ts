// Opens a sitemap, or an index of sitemaps, as the URLs of its entries (sitemaps.org). Nothing is fetched: the entries of an
// index are URLs of sitemaps.
import { IntakeError, WHAT_IS_READ } from './errors.ts';
import { type Cell, listSheet, type OpenedText, type Sheet } from './sheet.ts';
import { readText } from './text-source.ts';
import { parseXml } from './xml.ts';

const ENTRY_OF: Readonly<Record<string, string>> = { urlset: 'url', sitemapindex: 'sitemap' };

/** Throws `not_a_table` for XML that is no sitemap. */
export async function openSitemap(file: OpenedText): Promise<Sheet> {
  const root = await rootOf(file);
  if (root === null || !Object.hasOwn(ENTRY_OF, root)) {
    const name =
      root === null ? 'XML without an element' : `XML of another kind than a sitemap (<${root.slice(0, 40)}>)`;
    throw new IntakeError('not_a_table', `The file is ${name}, which is not read. ${WHAT_IS_READ}`);
  }
  return listSheet(file, {
    format: 'sitemap',
    warnings: root === 'sitemapindex' ? ['sitemap_index'] : [],
    cells: () => sitemapCells(file, ENTRY_OF[root]!),
  });
}

async function rootOf({ source, encoding }: OpenedText): Promise<string | null> {
  let root: string | null = null;
  const parsing = parseXml(readText(source, encoding), { open: (name) => void (root ??= name) }, refuse);
  for await (const _ of parsing) if (root !== null) return root;
  return root;
}

async function* sitemapCells({ source, encoding, limits }: OpenedText, entry: string): AsyncGenerator<Cell[]> {
  /** The names of the open elements. */
  const path: string[] = [];
  let row = 0;
  let page: Cell[] = [];
  let value = '';
  const isLocation = () => path.length === 3 && path[1] === entry && path[2] === 'loc';
  const parsing = parseXml(
    readText(source, encoding),
    {
      open(name) {
        path.push(name);
        if (path.length === 2 && name === entry) row++;
        if (isLocation()) value = '';
      },
      text(text) {
        if (isLocation() && value.length <= limits.max_url_chars) value += text;
      },
      close() {
        if (isLocation() && value.trim() !== '') page.push({ row, value: value.trim() });
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
  throw new IntakeError('broken_file', `The XML is not well-formed (${detail}). Make the sitemap again.`);
}
