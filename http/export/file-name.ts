// Derives the name of an exported file from the name of the uploaded one, which may hold any characters.
const MAX_CHARS = 100;
/** Characters that file systems refuse, or that reverse the writing direction and so hide the real extension. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}<>:"/\\|?*]+/gu;

export function exportFilename(uploaded: string | null, extension: string): string {
  const last = (uploaded ?? '').toWellFormed().split(/[/\\]/).at(-1)!;
  const stem = last.replace(/\.[A-Za-z0-9]{1,5}$/, '').replace(UNSAFE, '_');
  const short = [...stem]
    .slice(0, MAX_CHARS)
    .join('')
    .replace(/^[.\s_]+|[.\s_]+$/g, '');
  return `${short === '' ? '' : `${short}-`}results.${extension}`;
}

/** A Content-Disposition (RFC 6266) with the name in ASCII for old clients, and in UTF-8 for all others (RFC 8187). */
export function attachment(filename: string): string {
  const ascii = filename.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const whole = encodeURIComponent(filename).replace(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${whole}`;
}
