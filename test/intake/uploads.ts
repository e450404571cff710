// Files as people upload them, in a temporary folder of the test.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import { ZipFile } from 'yazl';
import { collectUrls } from '../../intake/collect-urls.ts';
import type { IntakeError } from '../../intake/errors.ts';
import type { IntakeLimits } from '../../intake/limits.ts';
import { openSheet } from '../../intake/open-sheet.ts';
import { ALL_COLUMNS, type Cell, type OpenOptions, type Sheet } from '../../intake/sheet.ts';

export async function upload(t: ExecutionContext, name: string, content: string | Buffer): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'intake-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

export async function open(
  t: ExecutionContext,
  name: string,
  content: string | Buffer,
  limits: Partial<IntakeLimits> = {},
  options: OpenOptions = {},
): Promise<Sheet> {
  return openSheet(await upload(t, name, content), name, limits, options);
}

export async function cellsOf(sheet: Sheet): Promise<Cell[]> {
  return (await Array.fromAsync(sheet.cells())).flat();
}

/** The URL column of a file, as texts, which are also found where all columns are taken. */
export async function valuesOf(t: ExecutionContext, name: string, content: string | Buffer): Promise<string[]> {
  const read = async (options: OpenOptions = {}) =>
    (await cellsOf(await open(t, name, content, {}, options))).map(({ value }) => value);
  const values = await read();
  const of_all = new Set(await read({ column: ALL_COLUMNS }));
  const missed = values.filter((value) => !of_all.has(value));
  t.deepEqual(missed, [], 'not in any column');
  return values;
}

/** The error of a file, thrown at any point of reading it. */
export async function failureOf(
  t: ExecutionContext,
  name: string,
  content: string | Buffer,
  limits: Partial<IntakeLimits> = {},
): Promise<IntakeError> {
  const error = await t.throwsAsync(async () => {
    const sheet = await open(t, name, content, limits);
    await Array.fromAsync(collectUrls(sheet.cells(), limits));
  });
  t.is(error?.name, 'IntakeError', error?.stack);
  return error as IntakeError;
}

export interface WorkbookParts {
  /** The inside of `<sheetData>` of each sheet. */
  sheets: string[];
  shared_strings?: string[];
  /** Link targets by cell of the first sheet. */
  links?: Record<string, string>;
  /** Parts that replace or join the generated ones. Null leaves one out. */
  parts?: Record<string, string | Buffer | null>;
}

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATION = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const RELATIONSHIPS = 'http://schemas.openxmlformats.org/package/2006/relationships';

export async function workbook({ sheets, shared_strings, links, parts: more = {} }: WorkbookParts): Promise<Buffer> {
  const parts: Record<string, string | Buffer | null> = {
    '[Content_Types].xml': `${XML}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
    '_rels/.rels': relationships([['rId1', 'officeDocument', 'xl/workbook.xml']]),
    'xl/workbook.xml': `${XML}<workbook xmlns="${MAIN}" xmlns:r="${RELATION}"><sheets>${sheets
      .map((_, i) => `<sheet name="Sheet ${i + 1}" sheetId="${i + 1}" r:id="rId${i + 1}"/>`)
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relationships([
      ...sheets.map((_, i) => [`rId${i + 1}`, 'worksheet', `worksheets/sheet${i + 1}.xml`] as const),
      ...(shared_strings ? [['strings', 'sharedStrings', '/xl/sharedStrings.xml'] as const] : []),
    ]),
  };
  const refs = Object.entries(links ?? {});
  for (const [i, rows] of sheets.entries()) {
    const hyperlinks = refs.map(([ref], n) => `<hyperlink ref="${ref}" r:id="link${n}"/>`).join('');
    parts[`xl/worksheets/sheet${i + 1}.xml`] =
      `${XML}<worksheet xmlns="${MAIN}" xmlns:r="${RELATION}"><sheetData>${rows}</sheetData>` +
      `${i === 0 && links ? `<hyperlinks>${hyperlinks}</hyperlinks>` : ''}</worksheet>`;
  }
  if (links) {
    parts['xl/worksheets/_rels/sheet1.xml.rels'] = relationships(
      refs.map(([, target], n) => [`link${n}`, 'hyperlink', target, 'External']),
    );
  }
  if (shared_strings) {
    const items = shared_strings.map((item) => `<si>${item}</si>`).join('');
    parts['xl/sharedStrings.xml'] = `${XML}<sst xmlns="${MAIN}">${items}</sst>`;
  }
  return zip({ ...parts, ...more });
}

export async function zip(parts: Record<string, string | Buffer | null>): Promise<Buffer> {
  const file = new ZipFile();
  for (const [name, content] of Object.entries(parts)) {
    if (content !== null) file.addBuffer(Buffer.from(content), name);
  }
  file.end();
  return buffer(file.outputStream);
}

function relationships(list: readonly (readonly [string, string, string, string?])[]): string {
  const items = list.map(
    ([id, kind, target, mode]) =>
      `<Relationship Id="${id}" Type="${RELATION}/${kind}" Target="${target}"${mode ? ` TargetMode="${mode}"` : ''}/>`,
  );
  return `${XML}<Relationships xmlns="${RELATIONSHIPS}">${items.join('')}</Relationships>`;
}

/** A row of cells with inline texts. */
export function inlineRow(...texts: string[]): string {
  return `<row>${texts.map((text) => `<c t="inlineStr"><is><t>${text}</t></is></c>`).join('')}</row>`;
}

/** An OpenDocument spreadsheet of one table with these rows. */
export function ods(rows: string, parts: Record<string, string | Buffer | null> = {}): Promise<Buffer> {
  const namespaces = ['office', 'table', 'text'].map(
    (name) => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`,
  );
  return zip({
    mimetype: 'application/vnd.oasis.opendocument.spreadsheet',
    'content.xml':
      `${XML}<office:document-content ${namespaces.join(' ')} xmlns:xlink="http://www.w3.org/1999/xlink"><office:body>` +
      `<office:spreadsheet><table:table table:name="Sheet1">${rows}</table:table></office:spreadsheet></office:body>` +
      '</office:document-content>',
    ...parts,
  });
}

/** A row of an OpenDocument table. A text without markup becomes a paragraph. */
export function odsRow(...cells: string[]): string {
  const content = (cell: string) => (cell.startsWith('<') ? cell : `<text:p>${cell}</text:p>`);
  return `<table:table-row>${cells.map((cell) => `<table:table-cell>${content(cell)}</table:table-cell>`).join('')}</table:table-row>`;
}
