// The names of files that clients save. The name of an uploaded file may hold any characters.
const MAX_CHARS = 100;
/** Characters that file systems refuse, or that reverse the writing direction and so hide the real extension. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}<>:"/\\|?*]+/gu;

/**
 * `what` tells the files of one job apart.
 * @example exportFilename('C:\\My links.xlsx', 'csv') // 'My links-results.csv'
 */
export function exportFilename(uploaded: string | null, extension: string, what = 'results'): string {
  const last = (uploaded ?? '').toWellFormed().split(/[/\\]/).at(-1)!;
  const stem = last.replace(/\.[A-Za-z0-9]{1,5}$/, '').replace(UNSAFE, '_');
  const short = [...stem]
    .slice(0, MAX_CHARS)
    .join('')
    .replace(/^[.\s_]+|[.\s_]+$/g, '');
  return `${short === '' ? '' : `${short}-`}${what}.${extension}`;
}

/**
 * A Content-Disposition (RFC 6266) with the name in ASCII for old clients, and in UTF-8 for all others (RFC 8187).
 * @example attachment('Übersicht.csv') // 'attachment; filename="_bersicht.csv"; filename*=UTF-8\'\'%C3%9Cbersicht.csv'
 */
export function attachment(filename: string): string {
  const ascii = filename.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const whole = encodeURIComponent(filename).replace(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${whole}`;
}

/** Characters that end a header, lead to another folder, or reverse the writing direction. */
const MISLEADING = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069/\\]/gu;

/** The name of an uploaded file as a client may save it: the same for all honest names. */
export const fileName = (uploaded: string): string => uploaded.replace(MISLEADING, '_');

const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  txt: 'text/plain',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  ods: 'application/vnd.oasis.opendocument.spreadsheet',
  json: 'application/json',
};

/** The types that `typeOfFile` gives besides `application/octet-stream`. */
export const FILE_TYPES: readonly string[] = Object.values(TYPES);

/** The media type that a file's name tells; `application/octet-stream` where it tells none. */
export const typeOfFile = (name: string): string =>
  TYPES[/\.([a-z]{3,4})$/i.exec(name)?.[1]?.toLowerCase() ?? ''] ?? 'application/octet-stream';
