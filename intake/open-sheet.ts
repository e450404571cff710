// Opens an uploaded file as the URLs in it. The content decides the format; the file's name does not.
import { stat } from 'node:fs/promises';
import { IntakeError, sheetNotFound } from './errors.ts';
import { isGzip, isPdf, isZip } from './known-formats.ts';
import { DEFAULT_LIMITS, type IntakeLimits } from './limits.ts';
import { ALL_COLUMNS, type OpenOptions, type Sheet } from './sheet.ts';
import { readHead } from './text-source.ts';

/** `path` must stay readable and unchanged while cells are read. Throws IntakeError for a file without a list of URLs. */
export async function openSheet(
  path: string,
  filename: string,
  limits: Partial<IntakeLimits> = {},
  options: OpenOptions = {},
): Promise<Sheet> {
  const all_limits = { ...DEFAULT_LIMITS, ...limits };
  const { max_file_bytes, max_inflated_bytes } = all_limits;
  const { size } = await stat(path);
  if (size === 0) {
    throw new IntakeError('empty_file', 'The file is empty. Upload a file with one URL in each row.');
  }
  if (size > max_file_bytes) {
    const megabytes = max_file_bytes / 1e6;
    throw new IntakeError('file_too_large', `The file is larger than ${megabytes} MB. Split it into smaller ones.`);
  }
  const start = await readHead({ path, is_gzip: false, max_inflated_bytes });
  if (isZip(start)) return (await import('./zip-file.ts')).openZipFile(path, all_limits, options);
  if (options.sheet) throw sheetNotFound(options.sheet, []);
  if (isPdf(start)) {
    const { openPdf } = await import('./pdf.ts');
    const column = options.column === ALL_COLUMNS ? null : (options.column ?? null);
    return openPdf({ path, is_gzip: false, max_inflated_bytes }, column, all_limits);
  }
  const source = { path, is_gzip: isGzip(start), max_inflated_bytes };
  return (await import('./open-text.ts')).openText(source, filename, all_limits, options);
}
