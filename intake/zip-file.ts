// Opens a ZIP archive by what it is: a workbook, a document, or an archive of lists.
import { IntakeError, sheetNotFound } from './errors.ts';
import { sameName } from './find-column.ts';
import { isNamedLikeList } from './formats.ts';
import { notRead, unreadArchive } from './known-formats.ts';
import type { IntakeLimits } from './limits.ts';
import { isOds } from './ods.ts';
import { openText } from './open-text.ts';
import type { OpenOptions, OtherSheet, Sheet } from './sheet.ts';
import type { TextFile } from './text-source.ts';
import { ZipPackage } from './zip-package.ts';

const MANIFEST = 'meta-inf/manifest.xml';
/** A manifest names this for each part that a password encrypts, near its beginning. */
const ENCRYPTED = 'encryption-data';
/** A book's pages are no lists, but this part of it is named like one. */
const BOOK = 'meta-inf/container.xml';
/** What macOS puts beside files, and hidden files. */
const HIDDEN = /^__macosx\/|(?:^|\/)\./;
/** Workbooks and archives in an archive are not opened. */
const NO_TEXT = /\.(?:xlsx|xlsm|ods|docx|pptx|odt|odp|pdf|zip|gz)$/;
/** Lists at whose beginnings is looked; any other one can be named. */
const MAX_LISTS = 100;

export async function openZipFile(path: string, limits: IntakeLimits, options: OpenOptions): Promise<Sheet> {
  const zip = await ZipPackage.open(path, limits.max_inflated_bytes);
  // What is in an archive of thousands of files takes a while to find out.
  const archive: NonNullable<TextFile['archive']> = { opened: zip };
  try {
    if (await isEncrypted(zip)) throw notRead('protected by a password', 'Save it without a password.');
    const is_ods = await isOds(zip);
    const is_package = is_ods || zip.has('[Content_Types].xml') || zip.has('content.xml');
    if (is_package && !is_ods && !zip.has('xl/workbook.xml')) {
      const { documentKindOf, openDocument } = await import('./document.ts');
      const kind = documentKindOf(zip);
      if (kind !== null) return await openDocument(path, kind, limits);
    }
    if (zip.has(BOOK)) throw unreadArchive((part) => zip.has(part));
    const names = is_package ? [] : zip.partsLike(/^/);
    const named = names.flatMap((name, part) => (isNamedLikeList(name) && !HIDDEN.test(name) ? [{ name, part }] : []));
    const lists = named.filter(({ name }) => !NO_TEXT.test(name));
    const has_others = lists.length < named.length;
    if (lists.length > 0) return await openLists({ path, archive, lists, has_others }, limits, options);
  } finally {
    archive.opened = null;
    zip.close();
  }
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

interface Lists extends Pick<TextFile, 'path' | 'archive'> {
  lists: readonly { name: string; part: number }[];
  /** Whether the archive has files that are not read. */
  has_others: boolean;
}

/** The list with the name that `sheet` gives, else the first one with URLs; the others with URLs are named. */
async function openLists(
  { path, archive, lists, has_others }: Lists,
  limits: IntakeLimits,
  options: OpenOptions,
): Promise<Sheet> {
  const { sheet: wanted = null, ...how } = options;
  let found: Sheet | null = null;
  let refused: IntakeError | null = null;
  const others: OtherSheet[] = [];
  const searched = wanted === null ? lists.slice(0, MAX_LISTS) : lists.filter(({ name }) => sameName(name, wanted));
  for (const { name, part } of searched) {
    const source = { path, archive, part, is_gzip: false, max_inflated_bytes: limits.max_inflated_bytes };
    try {
      const sheet = await openText(source, name, limits, how);
      if (sheet.url_share === 0 && wanted === null) continue;
      const named = { ...sheet, sheet_name: name };
      // Names of sites are what is meant only where no list has URLs.
      const is_better = found === null || (hasNamesOnly(found) && !hasNamesOnly(named));
      const other: Sheet | null = is_better ? found : named;
      if (other) others.push({ ...other.column, url_share: other.url_share ?? 1, sheet_name: other.sheet_name ?? '' });
      if (is_better) found = named;
    } catch (error) {
      if (!(error instanceof IntakeError)) throw error;
      if (!isUnread(refused)) refused = error;
    }
  }
  if (found !== null) {
    const warnings = [...found.warnings];
    if (others.length > 0 && wanted === null) warnings.push('several_sheets');
    const is_searched = wanted !== null || searched.length === lists.length;
    if (has_others || !is_searched || (wanted === null && isUnread(refused))) warnings.push('unread_files');
    return { ...found, other_sheets: others, warnings };
  }
  if (refused === null && wanted === null) {
    throw new IntakeError('no_urls', 'No list of the archive has URLs. Upload one with a URL in each row.');
  }
  throw (
    refused ??
    sheetNotFound(
      wanted ?? '',
      lists.map(({ name }) => name),
    )
  );
}

const hasNamesOnly = ({ warnings }: Sheet): boolean => warnings.includes('names_only');

/** Whether a list was refused for more than that it has no URLs. */
const isUnread = (refused: IntakeError | null): boolean => refused !== null && refused.code !== 'no_urls';
