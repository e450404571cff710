// Opens an uploaded file as the cells of its URL column. The content decides the format; the file's name does not.
import { stat } from 'node:fs/promises';
import { IntakeError } from './errors.ts';
import { DEFAULT_LIMITS, type IntakeLimits } from './limits.ts';
import type { OpenOptions, Sheet } from './sheet.ts';
import { openTextSheet } from './text-sheet.ts';
import { readHead } from './text-source.ts';
import { openXlsxSheet } from './xlsx/xlsx-sheet.ts';

/** `path` must stay readable and unchanged while cells are read. Throws IntakeError for a file without a table of URLs. */
export async function openSheet(
  path: string,
  filename: string,
  limits: Partial<IntakeLimits> = {},
  { column = null }: OpenOptions = {},
): Promise<Sheet> {
  const all_limits = { ...DEFAULT_LIMITS, ...limits };
  const { size } = await stat(path);
  if (size === 0) {
    throw new IntakeError('empty_file', 'The file is empty. Upload a file with one URL in each row.');
  }
  if (size > all_limits.max_file_bytes) {
    const megabytes = all_limits.max_file_bytes / 1e6;
    throw new IntakeError('file_too_large', `The file is larger than ${megabytes} MB. Split it into smaller ones.`);
  }
  const head = await readHead(path);
  const is_zip = head.toString('latin1', 0, 2) === 'PK' && head[2]! < 9 && head[3]! < 9;
  return is_zip ? openXlsxSheet(path, all_limits, column) : openTextSheet(path, filename, head, all_limits, column);
}
