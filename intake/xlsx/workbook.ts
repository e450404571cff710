// What a workbook is made of: its sheets in order, where its shared strings are, and the hyperlinks of a sheet.
import { posix } from 'node:path';
import { IntakeError } from '../errors.ts';
import { attributeOf, readXmlWhole } from './read-xml.ts';
import type { XlsxPackage } from './xlsx-package.ts';

export interface Workbook {
  sheets: { name: string; part: string }[];
  shared_strings: string | null;
}

interface Relationship {
  id: string;
  /** The last word of its type, which the strict and the usual form of the format share: `worksheet`, `hyperlink`. */
  kind: string;
  /** The name of a part or, where external, a URL. */
  target: string;
}

/** Excel itself takes no more than 65,530 in a sheet. */
const MAX_RELATIONSHIPS = 200_000;
/** Of the ids and targets of a part's relationships together: 65,530 of the longest that Excel takes. */
const MAX_RELATIONSHIP_CHARS = 150_000_000;
const MAX_SHEETS = 1_000;
/** Excel takes 31. */
const MAX_SHEET_NAME_CHARS = 255;

export async function readWorkbook(xlsx: XlsxPackage): Promise<Workbook> {
  const main = (await relationshipsOf(xlsx, '')).find(({ kind }) => kind === 'officeDocument');
  if (!main?.target.endsWith('.xml')) {
    throw new IntakeError(
      'not_a_table',
      'The file is a ZIP archive, but no XLSX workbook. Upload a CSV, text or XLSX file (not .xlsb, .ods or .zip).',
    );
  }
  const relationships = new Map((await relationshipsOf(xlsx, main.target)).map((one) => [one.id, one]));
  const sheets: Workbook['sheets'] = [];
  /** A part is one sheet, however often the workbook names it: each is read several times. */
  const parts = new Set<string>();
  await readXmlWhole(xlsx, main.target, {
    open(name, attributes) {
      if (name !== 'sheet' || sheets.length === MAX_SHEETS) return;
      const relationship = relationships.get(attributes['r:id'] ?? attributeOf(attributes, 'id') ?? '');
      // Sheets of charts and macros are of other kinds.
      if (relationship?.kind !== 'worksheet' || parts.has(relationship.target.toLowerCase())) return;
      parts.add(relationship.target.toLowerCase());
      sheets.push({ name: (attributes.name ?? '').slice(0, MAX_SHEET_NAME_CHARS), part: relationship.target });
    },
  });
  const strings = [...relationships.values()].find(({ kind }) => kind === 'sharedStrings');
  return { sheets, shared_strings: strings && xlsx.has(strings.target) ? strings.target : null };
}

/** By row and column, both as in `linkKey`. Only those that lead out of the workbook. */
export async function readHyperlinks(xlsx: XlsxPackage, sheet_part: string): Promise<ReadonlyMap<number, string>> {
  const targets = new Map<string, string>();
  for (const { id, kind, target } of await relationshipsOf(xlsx, sheet_part)) {
    if (kind === 'hyperlink') targets.set(id, target);
  }
  const links = new Map<number, string>();
  // They come after all the rows, so that a sheet with any is read twice.
  if (targets.size === 0) return links;
  await readXmlWhole(xlsx, sheet_part, {
    open(name, attributes) {
      if (name !== 'hyperlink') return;
      const target = targets.get(attributeOf(attributes, 'id') ?? '');
      const cell = parseReference(attributes.ref ?? '');
      if (target === undefined || cell === null) return;
      const fragment = attributes.location ? `#${attributes.location}` : '';
      if (links.size < MAX_RELATIONSHIPS) links.set(linkKey(cell.row, cell.column), target + fragment);
    },
  });
  return links;
}

export function linkKey(row: number, column: number): number {
  return row * MAX_COLUMNS + column;
}

export const MAX_COLUMNS = 16_384;
const REFERENCE = /^\$?([A-Z]{1,3})\$?(\d{1,7})/;

/** `B3` is row 3 and, counted from 0, column 1. Of a range, its first cell. */
export function parseReference(reference: string): { row: number; column: number } | null {
  const match = REFERENCE.exec(reference);
  if (!match) return null;
  let column = 0;
  for (const letter of match[1]!) column = column * 26 + letter.charCodeAt(0) - 64;
  return column > MAX_COLUMNS ? null : { row: Number(match[2]), column: column - 1 };
}

/** Of a part, or of the package itself where `part` is empty. */
async function relationshipsOf(xlsx: XlsxPackage, part: string): Promise<Relationship[]> {
  const folder = posix.dirname(part);
  const rels = posix.join(folder, '_rels', `${posix.basename(part)}.rels`);
  const found: Relationship[] = [];
  let chars = 0;
  if (!xlsx.has(rels)) return found;
  await readXmlWhole(xlsx, rels, {
    open(name, { Id = '', Type = '', Target = '', TargetMode }) {
      if (name !== 'Relationship') return;
      chars += Id.length + Target.length;
      if (found.length === MAX_RELATIONSHIPS || chars > MAX_RELATIONSHIP_CHARS) {
        throw new IntakeError('broken_xlsx', 'The workbook has more hyperlinks in a sheet than a spreadsheet takes.');
      }
      const external = TargetMode === 'External';
      const target = external ? Target : Target.startsWith('/') ? Target.slice(1) : posix.join(folder, Target);
      found.push({ id: Id, kind: Type.slice(Type.lastIndexOf('/') + 1), target });
    },
  });
  return found;
}
