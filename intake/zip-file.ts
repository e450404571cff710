// Opens a ZIP archive by what it is: a workbook, a document, or an archive of lists.
import { IntakeError, sheetNotFound } from './errors.ts';
import { sameName } from './find-column.ts';
import { isNamedLikeList } from './formats.ts';
import { notRead } from './known-formats.ts';
import type { IntakeLimits } from './limits.ts';
import { isOds } from './ods.ts';
import { openText } from './open-text.ts';
import type { OpenOptions, OtherSheet, Sheet } from './sheet.ts';
import { ZipPackage } from './zip-package.ts';

const MANIFEST = 'meta-inf/manifest.xml';
/** A manifest names this for each part that a password encrypts, near its beginning. */
const ENCRYPTED = 'encryption-data';
/** What macOS puts beside files, and hidden files. */
const HIDDEN = /^__macosx\/|(?:^|\/)\./;
/** Workbooks and archives in an archive are not opened. */
const NO_TEXT = /\.(?:xlsx|xlsm|ods|docx|pptx|odt|odp|pdf|zip|gz)$/;
const MAX_LISTS = 20;

export async function openZipFile(path: string, limits: IntakeLimits, options: OpenOptions): Promise<Sheet> {
  const zip = await ZipPackage.open(path, limits.max_inflated_bytes);
  let lists: { name: string; part: number }[];
  try {
    if (await isEncrypted(zip)) throw notRead('protected by a password', 'Save it without a password.');
    const is_ods = await isOds(zip);
    const is_package = is_ods || zip.has('[Content_Types].xml') || zip.has('content.xml');
    if (is_package && !is_ods && !zip.has('xl/workbook.xml')) {
      const { documentKindOf, openDocument } = await import('./document.ts');
      const kind = documentKindOf(zip);
      if (kind !== null) return await openDocument(path, kind, limits);
    }
    const names = is_package ? [] : zip.partsLike(/^/);
    lists = names.flatMap((name, part) =>
      isNamedLikeList(name) && !HIDDEN.test(name) && !NO_TEXT.test(name) ? [{ name, part }] : [],
    );
  } finally {
    zip.close();
  }
  if (lists.length > 0) return openLists(path, lists.slice(0, MAX_LISTS), limits, options);
  return (await import('./workbook.ts')).openWorkbook(path, limits, options);
}

async function isEncrypted(zip: ZipPackage): Promise<boolean> {
  if (!zip.has(MANIFEST)) return false;
  let text = '';
  for await (const bytes of zip.read(MANIFEST)) {
    text = text.slice(-ENCRYPTED.length) + bytes.toString('latin1');
    if (text.includes(ENCRYPTED)) return true;
  }
  return false;
}

/** The list with the name that `sheet` gives, else the first one with URLs; the others with URLs are named. */
async function openLists(
  path: string,
  lists: readonly { name: string; part: number }[],
  limits: IntakeLimits,
  options: OpenOptions,
): Promise<Sheet> {
  const { sheet: wanted = null, ...how } = options;
  let found: Sheet | null = null;
  let refused: unknown = null;
  const others: OtherSheet[] = [];
  for (const { name, part } of lists) {
    if (wanted !== null && !sameName(name, wanted)) continue;
    const source = { path, part, is_gzip: false, max_inflated_bytes: limits.max_inflated_bytes };
    try {
      const sheet = await openText(source, name, limits, how);
      if (sheet.url_share === 0 && wanted === null) continue;
      if (found === null) found = { ...sheet, sheet_name: name };
      else others.push({ ...sheet.column, url_share: sheet.url_share ?? 1, sheet_name: name });
    } catch (error) {
      if (!(error instanceof IntakeError)) throw error;
      refused ??= error;
    }
  }
  if (found !== null) {
    const warnings =
      others.length > 0 && wanted === null ? [...found.warnings, 'several_sheets' as const] : found.warnings;
    return { ...found, other_sheets: others, warnings };
  }
  throw (
    refused ??
    sheetNotFound(
      wanted ?? '',
      lists.map(({ name }) => name),
    )
  );
}
