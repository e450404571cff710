// Finds the column of a table that holds the URLs, and the end of its header. The cells decide; the header breaks ties.
import { beginsLikeUrl, urlsInCell } from './cell-urls.ts';
import { urlLikeness } from './classify-url.ts';

export interface SampleRow {
  /** Number of the row as in a spreadsheet, from 1; 0 for names that the format gives the columns. */
  row: number;
  cells: readonly string[];
}

export interface NamedColumn {
  /** Index of the column, from 0. */
  index: number;
  /** The column's header; null without a header. */
  name: string | null;
  /** Share of rows with a URL in this column, 0 to 1; a URL without `https://` counts half, one in a sentence a quarter. */
  url_share: number;
}

export interface UrlColumn extends NamedColumn {
  first_data_row: number;
  /** The cells of the header; null without a header. */
  header: readonly string[] | null;
  /** The other columns that hold URLs, the largest share first. */
  others: readonly NamedColumn[];
  /** Whether most of its cells with a URL have other words beside it. */
  has_notes: boolean;
  /** Whether no cell has a scheme and the header does not tell that the column holds sites: dotted words may be anything. */
  has_names_only: boolean;
  /** Whether names without a scheme count: where most cells are neither names nor URLs, a dotted word is one by chance. */
  takes_names: boolean;
}

const COLUMN_NAMES = new Set(
  (
    'url,urls,uri,link,links,href,website,websites,web site,site,sites,page,pages,page url,web page,webpage,landing page,page location,' +
    'landing page url,website url,target url,source url,final url,full url,link url,url to check,address,web address,' +
    'domain,domains,homepage,location,loc,destination,permalink,permalinks,' +
    'adresse,internetadresse,webadresse,webseite,webseiten,lien,liens,site web,adresse web,page web,enlace,enlaces,sitio,sitio web,página web,' +
    'sito,sito web,indirizzo,collegamento,strona,strona www,adres,adres strony,odkaz,odkazy,web,länk,länkar,webbplats,hemsida,lenke,nettsted,' +
    'hjemmeside,linkki,verkkosivu,weboldal,honlap,bağlantı,web sitesi,ссылка,ссылки,сайт,адрес,адрес сайта,адрес страницы,посилання,' +
    'リンク,サイト,ホームページ,アドレス,链接,网址,网站,链接地址,連結,網址,網站,링크,주소,사이트,홈페이지,웹사이트,קישור,אתר,رابط,الرابط,الموقع'
  ).split(','),
);
const LABEL = /^\p{L}[\p{L}\p{M}\p{N} _().:/#-]{0,63}$/u;
/** Of a path of names such as `page.url`, the part that tells. */
const LAST_NAME = /^\p{L}[\p{L}\p{N}_-]*(?:[.:/]\p{L}[\p{L}\p{N}_-]*)*[.:/](\p{L}[\p{L}\p{N}_-]*)$/u;
/** Names such as `Source URL` and `Product link`, but not those of pictures and of services. */
const ENDS_IN_NAME = /(?:^| )(?:url|urls|uri|href|permalink|website|link)$/;
const NOT_MEANT =
  /\b(?:image|img|pic|picture|photo|thumb|thumbnail|avatar|icon|favicon|logo|cover|banner|poster|gravatar|api|self|next|prev|previous|callback|hook|schema|license)s?\b/;
/** The word alone may be the name of a site. */
const FIRST_NAME = /^(url|uri|href|link)s?[.:/]\p{L}[\p{L}\p{N}_-]*$/iu;

/**
 * Returns the column with the largest share of URLs. A column with a name such as `url` wins over one without, where most of its own
 * cells are URLs; among equals the leftmost one does.
 * If no cell is a URL, it returns the column with such a name, or the only column, else null. `wanted` names the column to
 * return instead, by its header or its letter; then null means that no column has this name.
 */
export function findUrlColumn(
  sample: readonly SampleRow[],
  max_url_chars: number,
  wanted: string | null = null,
): UrlColumn | null {
  const rows = withRowNames(sample);
  const totals: number[] = [];
  const filled: number[] = [];
  const first_url: number[] = [];
  let width = 0;
  for (const [position, { row, cells }] of rows.entries()) {
    width = Math.max(width, cells.length);
    for (const [index, cell] of cells.entries()) {
      // The paths of JSON are no names of sites.
      if (row === 0 || (position === 0 && isColumnName(cell))) continue;
      const likeness = cellLikeness(cell, max_url_chars);
      if (cell.trim() !== '') filled[index] = (filled[index] ?? 0) + 1;
      if (likeness === 0) continue;
      totals[index] = (totals[index] ?? 0) + likeness;
      first_url[index] ??= position;
    }
  }
  const described = (index: number) => describe(rows, index, first_url[index] ?? rows.length, width);
  const columns = Object.keys(totals).map((key) => {
    const index = Number(key);
    return { ...described(index), url_share: totals[index]! / rows.length, own_share: totals[index]! / filled[index]! };
  });
  const first = Math.min(rows.length, ...Object.values(first_url));
  const best = wanted === null ? likeliest(columns) : namedColumn(rows, first, width, wanted, described, columns);
  if (best === null) return wanted === null ? byNameAlone(rows, width) : null;
  const texts = rows.filter(({ row }) => row >= best.first_data_row).map(({ cells }) => cells[best.index] ?? '');
  const { has_names_only, takes_names } = namesIn(texts, max_url_chars);
  if (wanted === null && has_names_only && !takes_names) return byNameAlone(rows, width);
  const others = columns.filter(({ index }) => index !== best.index).sort((a, b) => b.url_share - a.url_share);
  return {
    ...{ index: best.index, name: best.name, url_share: best.url_share },
    ...{ first_data_row: best.first_data_row, header: best.header },
    has_notes: haveNotes(texts),
    has_names_only: wanted === null && has_names_only && !tellsOfUrls(best.name ?? ''),
    takes_names: wanted !== null || takes_names,
    others: others.slice(0, MAX_OTHERS).map(({ index, name, url_share }) => ({ index, name, url_share })),
  };
}

/** Whether the texts of a column are names without a scheme, and whether most of them are names or URLs at all. */
function namesIn(texts: readonly string[], max_url_chars: number): Pick<UrlColumn, 'has_names_only' | 'takes_names'> {
  let [names, urls, filled] = [0, 0, 0];
  for (const text of texts) {
    if (text.trim() === '') continue;
    filled++;
    if (HAS_SCHEME.test(text)) urls++;
    else if (cellLikeness(text, max_url_chars) > 0) names++;
  }
  return { has_names_only: urls === 0 && names > 0, takes_names: (names + urls) * 2 >= filled };
}

const HAS_SCHEME = /https?:|www\./i;

/** Fewer cells with words behind a URL are no habit. */
const MIN_NOTES = 3;

/** Whether words stand beside the URLs of most texts that have one. */
export function haveNotes(texts: readonly string[]): boolean {
  let [notes, unclear, plain] = [0, 0, 0];
  for (const text of texts) {
    const found = urlsInCell(text.slice(0, JUDGED_CHARS));
    if (!found.texts.some(beginsLikeUrl)) continue;
    if (found.is_unclear) unclear++;
    else if (found.is_prose) notes++;
    else plain++;
  }
  return notes > plain || (notes + unclear > plain && notes + unclear >= MIN_NOTES);
}

const MAX_OTHERS = 20;

/** R and pandas give the column with the row numbers no header: the header then begins a column too early. */
function withRowNames(rows: readonly SampleRow[]): readonly SampleRow[] {
  const [header, ...data] = rows;
  if (header === undefined || data.length === 0) return rows;
  const width = header.cells.length + 1;
  const first = data[0]!.cells[0] === '0' ? 0 : 1;
  const are_numbered = data.every(
    ({ cells }, i) => cells.length === width && Number(cells[0]) === first + i && cells.at(-1) !== '',
  );
  return are_numbered ? [{ row: header.row, cells: ['', ...header.cells] }, ...data] : rows;
}

type Described = Pick<UrlColumn, 'index' | 'name' | 'first_data_row' | 'header'>;
/** `own_share`: the same of its cells that are not empty. */
type Found = Described & { url_share: number; own_share: number };

function likeliest(columns: readonly Found[]): Found | null {
  const named = columns.filter(({ name, own_share }) => tellsOfUrls(name ?? '') && own_share >= NAMED_SHARE);
  const among = named.length > 0 ? named : columns;
  const most = among.reduce((share, { url_share }) => Math.max(share, url_share), 0);
  return among.find(({ url_share }) => url_share === most) ?? null;
}

/** A column of names without a scheme has half of the likeness of one of URLs. */
const NAMED_SHARE = 0.4;

/** The column with the header `wanted` or, without one, with the letter `wanted`. */
function namedColumn(
  rows: readonly SampleRow[],
  first_url: number,
  width: number,
  wanted: string,
  described: (index: number) => Described,
  columns: readonly Found[],
): Found | null {
  const isWanted = (cell: string) => sameName(cell, wanted);
  const lettered = columnOfLetters(wanted);
  const is_letter = lettered !== null && lettered < width;
  // Below the first URL a cell with the same text is data.
  const above = rows.slice(0, Math.min(MAX_ROWS_ABOVE, is_letter ? first_url : Math.max(1, first_url)));
  const header = above.find(({ cells }) => cells.some(isWanted));
  const index = header?.cells.findIndex(isWanted) ?? lettered;
  if (index === null || index >= width) return null;
  const { url_share = 0, own_share = 0 } = columns.find((column) => column.index === index) ?? {};
  const shares = { url_share, own_share };
  if (header === undefined) return { ...described(index), ...shares };
  const name = header.cells[index]!.trim();
  return { index, name, first_data_row: header.row + 1, header: header.cells, ...shares };
}

/** Rows among which a header with a given name is searched. */
const MAX_ROWS_ABOVE = 20;

/** The headers of a table or, without them, the letters of its columns. */
export function namesOfColumns(sample: readonly SampleRow[], column: UrlColumn | null): string[] {
  const width = sample.reduce((most, { cells }) => Math.max(most, cells.length), 0);
  const names = Array.from({ length: width }, (_, index) => column?.header?.[index]?.trim() || lettersOfColumn(index));
  return [...new Set(names)];
}

export const sameName = (a: string, b: string) => a.trim().toLowerCase() === b.trim().toLowerCase();

/** The index of a spreadsheet's column from its letters, as 2 for `C`; null for any other text. */
export function columnOfLetters(text: string): number | null {
  if (!/^[a-z]{1,3}$/i.test(text)) return null;
  let column = 0;
  for (const letter of text.toUpperCase()) column = column * 26 + letter.charCodeAt(0) - 64;
  return column - 1;
}

/** @example lettersOfColumn(27) // 'AB' */
export function lettersOfColumn(index: number): string {
  let letters = '';
  for (let rest = index + 1; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
  }
  return letters;
}

/** Whether another column is as likely as the one taken, and its header does not decide. */
export function isAmbiguous({ name, url_share, others }: UrlColumn): boolean {
  const rivals = others.filter((other) => other.url_share >= url_share * EQUALLY_LIKELY);
  return (
    rivals.some((other) => other.url_share > url_share) ||
    rivals.some((other) => tellsOfUrls(other.name ?? '') || !tellsOfUrls(name ?? ''))
  );
}

const EQUALLY_LIKELY = 0.9;

/** A URL among other words, as in a column of notes. */
export const PROSE_LIKENESS = 0.25;

/** Characters of a cell that decide what it is. A longer text without a space is too long for a URL anyway. */
const JUDGED_CHARS = 16_384;

/** `urlLikeness` of the best URL in the cell, less where it stands among other words. */
export function cellLikeness(cell: string, max_url_chars: number): number {
  if (cell.trim() === '') return 0;
  const { texts, is_prose } = urlsInCell(cell.slice(0, JUDGED_CHARS));
  const best = texts.reduce((most, text) => Math.max(most, urlLikeness(text, max_url_chars)), 0);
  return is_prose ? Math.min(best, PROSE_LIKENESS) : best;
}

function describe(rows: readonly SampleRow[], index: number, first_url: number, width: number): Described {
  const above = rows.slice(0, first_url);
  const cellOf = (row: SampleRow) => row.cells[index]?.trim() ?? '';
  // The first line of a list may be a bad URL, so only a table's header may have any name.
  const header =
    above.find((row) => isColumnName(cellOf(row))) ??
    above.find((row) => width > 1 && row.cells.length * 2 > width && LABEL.test(cellOf(row)) && !hasUrl(row));
  return {
    index,
    name: header ? cellOf(header) : null,
    first_data_row: header ? header.row + 1 : 1,
    header: header?.cells ?? null,
  };
}

/** A row with a URL in another column is no header. */
const hasUrl = ({ cells }: SampleRow): boolean => cells.some((cell) => beginsLikeUrl(cell.trim()));

function byNameAlone(rows: readonly SampleRow[], width: number): UrlColumn | null {
  const nothing = { url_share: 0, others: [], has_notes: false, has_names_only: false, takes_names: false };
  for (const { row, cells } of rows) {
    const index = cells.findIndex(isColumnName);
    if (index === -1) continue;
    return { ...nothing, index, name: cells[index]!.trim(), first_data_row: row + 1, header: cells };
  }
  return width === 1 ? { ...nothing, index: 0, name: null, first_data_row: 1, header: null } : null;
}

/** Whether a text is how people name a column of URLs: `URL`, `landing_page`, `page.url`. */
export function isColumnName(cell: string): boolean {
  const text = cell.trim();
  const last = LAST_NAME.exec(text)?.[1];
  const name = (last ?? text).toLowerCase().replace(/[\s_-]+/g, ' ');
  return COLUMN_NAMES.has(name) || FIRST_NAME.test(text);
}

/** Whether the header of a table tells of URLs that are meant, also by its last word. */
export function tellsOfUrls(header: string): boolean {
  const name = header
    .trim()
    .toLowerCase()
    .replace(/[\s_-]+/g, ' ');
  return isColumnName(header) || (ENDS_IN_NAME.test(name) && !NOT_MEANT.test(name));
}
