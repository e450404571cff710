// Parses multipart/form-data (RFC 7578) from a stream: the head of each part, then its content in pieces. The parser holds one
// piece and one head in memory, and a head is at most 16 KiB.
import { isUtf8 } from 'node:buffer';

export interface PartHead {
  /** The name of the form field. */
  name: string;
  /** The last word of the path that the client sent, without control characters. Null for a field that is no file. */
  filename: string | null;
}

export type MultipartEvent = { part: PartHead } | { content: Buffer };

export class MultipartError extends Error {
  readonly code: 'malformed' | 'head_too_large' | 'encoding';
  /** The field whose head is not UTF-8, with U+FFFD for each wrong byte. */
  readonly field: string;
  constructor(code: MultipartError['code'], message: string, field = '') {
    super(message);
    this.code = code;
    this.field = field;
  }
}

export const MAX_HEAD_BYTES = 16 * 1024;
/** RFC 2046 allows 70 characters; some clients send more. */
const MAX_BOUNDARY_CHARS = 200;
const BOUNDARY = /;\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i;
/** Browsers and curl quote names, and write `"` as `%22` or `\"`. */
const NAME = /;\s*name=(?:"((?:\\"|[^"])*)"|([^\s;"]*))/i;
const FILENAME = /;\s*filename=(?:"((?:\\"|[^"])*)"|([^\s;"]*))/i;
/** RFC 5987: RFC 7578 forbids it, and some clients send it. */
const EXTENDED_FILENAME = /;\s*filename\*=utf-8'[^']*'([^\s;]*)/i;
const LINE_END = Buffer.from('\r\n');
const HEAD_END = Buffer.from('\r\n\r\n');
const DASHES = '--';
const [DASH, CR, LF] = [0x2d, 0x0d, 0x0a];

/** The boundary in a Content-Type header. Null when the header has none, or one that is too long. */
export function boundaryOf(content_type: string): string | null {
  const found = BOUNDARY.exec(content_type);
  const boundary = found?.[1] ?? found?.[2] ?? '';
  return boundary.length > 0 && boundary.length <= MAX_BOUNDARY_CHARS ? boundary : null;
}

/**
 * Yields the head of each part, then the pieces of its content, and ignores all bytes after the last boundary. Throws MultipartError.
 * @example for await (const event of readParts(chunks, boundary)) if ('part' in event) console.log(event.part.name);
 */
export async function* readParts(chunks: AsyncIterable<Buffer>, boundary: string): AsyncGenerator<MultipartEvent> {
  const delimiter = Buffer.from(`\r\n${DASHES}${boundary}`);
  let state: 'preamble' | 'delimiter' | 'head' | 'content' | 'epilogue' = 'preamble';
  let in_part = false;
  // The first boundary may be the first line of the body.
  let held: Buffer = LINE_END;

  for await (const chunk of chunks) {
    if (state === 'epilogue') continue;
    held = Buffer.concat([held, chunk]);
    for (let needs_more = false; !needs_more; ) {
      if (state === 'preamble' || state === 'content') {
        const at = boundaryIn(held, delimiter);
        needs_more = at === -1;
        const end = at === -1 ? Math.max(0, held.length - delimiter.length + 1) : at;
        if (in_part && end > 0) yield { content: held.subarray(0, end) };
        held = held.subarray(at === -1 ? end : end + delimiter.length);
        if (at !== -1) state = 'delimiter';
      } else if (state === 'delimiter') {
        const after = held.toString('latin1', 0, 2);
        if (after.length < 2) break;
        if (after === DASHES) {
          state = 'epilogue';
          break;
        }
        if (after === '\r\n') {
          // The line end stays in `held`, so that an empty head ends at the same two line ends as any other.
          state = 'head';
        } else {
          // This line of the content only begins like a boundary.
          if (in_part) yield { content: delimiter };
          state = in_part ? 'content' : 'preamble';
        }
      } else {
        const end = held.indexOf(HEAD_END);
        if (end > MAX_HEAD_BYTES || (end === -1 && held.length > MAX_HEAD_BYTES + HEAD_END.length)) {
          throw new MultipartError('head_too_large', `The headers of a part are longer than ${MAX_HEAD_BYTES} bytes.`);
        }
        if (end === -1) break;
        yield { part: headOf(held.subarray(LINE_END.length, Math.max(end, LINE_END.length))) };
        in_part = true;
        state = 'content';
        held = held.subarray(end + HEAD_END.length);
      }
    }
  }
  if (state !== 'epilogue') throw new MultipartError('malformed', 'The form ends before its last boundary.');
}

/**
 * Where the next boundary begins, whole or cut off by the end of the bytes; -1 for none. A line that only begins like a boundary is passed
 * over here: a file of such lines would come in pieces of a few bytes.
 */
function boundaryIn(bytes: Buffer, delimiter: Buffer): number {
  let at = bytes.indexOf(delimiter);
  for (let end = at + delimiter.length; at !== -1 && end + 2 <= bytes.length; end = at + delimiter.length) {
    const [first, second] = [bytes[end], bytes[end + 1]];
    if ((first === DASH && second === DASH) || (first === CR && second === LF)) break;
    at = bytes.indexOf(delimiter, end);
  }
  return at;
}

function headOf(bytes: Buffer): PartHead {
  const text = bytes.toString();
  const headers = new Map<string, string>();
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  const disposition = headers.get('content-disposition') ?? '';
  const name = parameter(disposition, NAME);
  if (!/^form-data\s*;/i.test(disposition) || name === null) {
    throw new MultipartError('malformed', 'A part of the form has no name.');
  }
  if (!isUtf8(bytes)) throw new MultipartError('encoding', 'the name of the field or of its file is not UTF-8', name);
  const filename = extendedFilename(disposition) ?? parameter(disposition, FILENAME);
  return { name, filename: filename && plainName(filename) };
}

function parameter(disposition: string, pattern: RegExp): string | null {
  const found = pattern.exec(disposition);
  return found && (found[1] ?? found[2] ?? '').replace(/\\"|%22/g, '"');
}

function extendedFilename(disposition: string): string | null {
  try {
    const found = EXTENDED_FILENAME.exec(disposition);
    return found && decodeURIComponent(found[1]!);
  } catch {
    return null;
  }
}

function plainName(filename: string): string {
  return filename.slice(Math.max(filename.lastIndexOf('\\'), filename.lastIndexOf('/')) + 1).replace(/\p{Cc}/gu, '');
}
