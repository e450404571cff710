// Reads the structure of a workbook: its sheets in order, the part with its shared strings, and the hyperlinks of a sheet.
import { posix } from 'node:path';
import { IntakeError } from '../errors.ts';
import { unreadArchive } from '../known-formats.ts';
import { readPartWhole } from '../read-part.ts';
import { attributeOf } from '../xml.ts';
import type { ZipPackage } from '../zip-package.ts';

export interface Workbook {
  sheets: { name: string; part: string; is_hidden: boolean }[];
  shared_strings: string | null;
  styles: string | null;
  /** Whether dates count from 1904, as on old Macs. */
  is_1904: boolean;
}

interface Relationship {
  id: string;
  /** The last segment of its type, which strict and transitional workbooks share: `worksheet`, `hyperlink`. */
  kind: string;
  /** The name of a part, or a URL if it is external. */
  target: string;
}

/** Excel accepts 65,530 hyperlinks in a sheet. */
const MAX_RELATIONSHIPS = 200_000;
/** Characters of the ids and targets of a part's relationships together: 65,530 of the longest that Excel accepts. */
const MAX_RELATIONSHIP_CHARS = 150_000_000;
const MAX_SHEETS = 1_000;
/** Excel accepts 31. */
const MAX_SHEET_NAME_CHARS = 255;

export async function readWorkbook(xlsx: ZipPackage): Promise<Workbook> {
  const main = (await relationshipsOf(xlsx, '')).find(({ kind }) => kind === 'officeDocument');
  if (!main?.target.endsWith('.xml')) {
    throw unreadArchive((part) => xlsx.has(part));
  }
  const relationships = new Map((await relationshipsOf(xlsx, main.target)).map((one) => [one.id, one]));
  const sheets: Workbook['sheets'] = [];
  /** Parts seen: a workbook may name a part several times, but the part is one sheet. */
  const parts = new Set<string>();
  let is_1904 = false;
  await readPartWhole(xlsx, main.target, {
    open(name, attributes) {
      if (name === 'workbookPr') is_1904 = ['1', 'true'].includes(attributes.date1904 ?? '');
      if (name !== 'sheet' || sheets.length === MAX_SHEETS) return;
      const relationship = relationships.get(attributes['r:id'] ?? attributeOf(attributes, 'id') ?? '');
      // Chart sheets and macro sheets have other kinds.
      if (relationship?.kind !== 'worksheet' || parts.has(relationship.target.toLowerCase())) return;
      parts.add(relationship.target.toLowerCase());
      const is_hidden = ['hidden', 'veryHidden'].includes(attributes.state ?? '');
      sheets.push({
        name: (attributes.name ?? '').slice(0, MAX_SHEET_NAME_CHARS),
        part: relationship.target,
        is_hidden,
      });
    },
  });
  const part = (wanted: string) => {
    const found = [...relationships.values()].find(({ kind }) => kind === wanted);
    return found && xlsx.has(found.target) ? found.target : null;
  };
  return { sheets, shared_strings: part('sharedStrings'), styles: part('styles'), is_1904 };
}

/** The hyperlinks of a sheet that lead out of the workbook. */
export interface Hyperlinks {
  /** The link on a cell, by its row from 1 and its column from 0; null without one. */
  of(row: number, column: number): string | null;
}
export const NO_LINKS: Hyperlinks = { of: () => null };

/** A link on a range of cells. */
interface RangeLink {
  from: Cell;
  to: Cell;
  link: string;
}
/** Ranges are looked through for each cell, where their cells are too many to be kept one by one. */
const MAX_RANGES = 1000;
const MAX_CELLS_OF_RANGE = 1_000;
const MAX_CELLS_OF_RANGES = 500_000;

export async function readHyperlinks(xlsx: ZipPackage, sheet_part: string): Promise<Hyperlinks> {
  const targets = new Map<string, string>();
  for (const { id, kind, target } of await relationshipsOf(xlsx, sheet_part)) {
    if (kind === 'hyperlink') targets.set(id, target);
  }
  // Hyperlinks follow the rows, so a sheet that has some is read twice.
  if (targets.size === 0) return NO_LINKS;
  const links = new Map<number, string>();
  const links_of_ranges = new Map<number, string>();
  const ranges: RangeLink[] = [];
  let cells_of_ranges = 0;
  const addRange = (range: RangeLink) => {
    const { from, to, link } = range;
    const cells = (to.row - from.row + 1) * (to.column - from.column + 1);
    if (cells <= MAX_CELLS_OF_RANGE && cells_of_ranges + cells <= MAX_CELLS_OF_RANGES) {
      cells_of_ranges += cells;
      for (let row = from.row; row <= to.row; row++) {
        for (let column = from.column; column <= to.column; column++) {
          const key = keyOf(row, column);
          if (!links_of_ranges.has(key)) links_of_ranges.set(key, link);
        }
      }
    } else if (ranges.push(range) > MAX_RANGES) {
      throw new IntakeError('broken_xlsx', 'The workbook has hyperlinks on more ranges of cells than are read.');
    }
  };
  await readPartWhole(xlsx, sheet_part, {
    open(name, attributes) {
      if (name !== 'hyperlink') return;
      const target = targets.get(attributeOf(attributes, 'id') ?? '');
      const [first = '', last] = (attributes.ref ?? '').split(':');
      const from = parseReference(first);
      if (target === undefined || from === null) return;
      const link = target + (attributes.location ? `#${attributes.location}` : '');
      const to = last === undefined ? from : (parseReference(last) ?? from);
      if (to.row === from.row && to.column === from.column) {
        if (links.size < MAX_RELATIONSHIPS) links.set(keyOf(from.row, from.column), link);
      } else addRange({ from, to, link });
    },
  });
  const isIn = (row: number, column: number, { from, to }: RangeLink) =>
    row >= from.row && row <= to.row && column >= from.column && column <= to.column;
  return {
    of(row, column) {
      const key = keyOf(row, column);
      const link = links.get(key) ?? links_of_ranges.get(key);
      return link ?? ranges.find((range) => isIn(row, column, range))?.link ?? null;
    },
  };
}

const keyOf = (row: number, column: number): number => row * MAX_COLUMNS + column;

interface Cell {
  row: number;
  column: number;
}

export const MAX_COLUMNS = 16_384;
const REFERENCE = /^\$?([A-Z]{1,3})\$?(\d{1,7})/;

/** Row from 1 and column from 0 of a reference such as `B3`; the first cell of a range; null for any other text. */
export function parseReference(reference: string): Cell | null {
  const match = REFERENCE.exec(reference);
  if (!match) return null;
  let column = 0;
  for (const letter of match[1]!) column = column * 26 + letter.charCodeAt(0) - 64;
  return column > MAX_COLUMNS ? null : { row: Number(match[2]), column: column - 1 };
}

/** The relationships of a part, or of the package if `part` is empty. */
export async function relationshipsOf(xlsx: ZipPackage, part: string): Promise<Relationship[]> {
  const folder = posix.dirname(part);
  const rels = posix.join(folder, '_rels', `${posix.basename(part)}.rels`);
  const found: Relationship[] = [];
  let chars = 0;
  if (!xlsx.has(rels)) return found;
  await readPartWhole(xlsx, rels, {
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
