// Turns the bytes of a body into text: decompresses them within a bound and decodes them by their charset.
import { TextDecoder } from 'node:util';
import zlib from 'node:zlib';

/** The most bytes read of a body, compressed or not, and the most bytes decompressed of it. */
export const MAX_HTML_BYTES = 128 * 1024;

/** Output limit of one decompression. */
const MAX_OUTPUT_BYTES = 512 * 1024;
/** Compressed bytes: a beginning shorter than this that exceeds the output limit is a decompression bomb. */
const MIN_BEGINNING_BYTES = 1024;
const MAX_ENCODINGS = 2;

type Decompress = (input: Buffer) => Buffer;

// The body may be truncated: the decompressors flush what they have and require no end marker.
const deflated = { finishFlush: zlib.constants.Z_SYNC_FLUSH, maxOutputLength: MAX_OUTPUT_BYTES };
const DECOMPRESS: { readonly [encoding: string]: Decompress } = {
  gzip: (input) => zlib.gunzipSync(input, deflated),
  'x-gzip': (input) => zlib.gunzipSync(input, deflated),
  // Some servers send raw deflate; the compression method 8 marks a zlib header.
  deflate: (input) =>
    ((input[0] ?? 0) & 15) === 8 ? zlib.inflateSync(input, deflated) : zlib.inflateRawSync(input, deflated),
  br: (input) =>
    zlib.brotliDecompressSync(input, {
      finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH,
      maxOutputLength: MAX_OUTPUT_BYTES,
    }),
  zstd: (input) =>
    zlib.zstdDecompressSync(input, { finishFlush: zlib.constants.ZSTD_e_flush, maxOutputLength: MAX_OUTPUT_BYTES }),
};
export const ACCEPT_ENCODING = 'gzip, deflate, br, zstd';

/**
 * The first `MAX_HTML_BYTES` of the body, decompressed; null when its encoding is unknown or broken. A body that exceeds
 * the output limit is decompressed from ever shorter beginnings, so that a bomb costs a few milliseconds and no memory.
 */
export function decodeBody(body: Buffer, content_encoding: string | undefined): Buffer | null {
  if (content_encoding === undefined) return body.subarray(0, MAX_HTML_BYTES);
  const encodings = content_encoding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
    .reverse();
  if (encodings.length > MAX_ENCODINGS) return null;
  let decoded = body;
  for (const encoding of encodings) {
    const decompress = DECOMPRESS[encoding];
    if (decompress === undefined) return null;
    const output = decompressBeginning(decompress, decoded);
    if (output === null) return null;
    decoded = output;
  }
  return decoded.subarray(0, MAX_HTML_BYTES);
}

function decompressBeginning(decompress: Decompress, input: Buffer): Buffer | null {
  for (let length = input.length; length === input.length || length >= MIN_BEGINNING_BYTES; length >>= 2) {
    try {
      return decompress(input.subarray(0, length));
    } catch (error) {
      // The body is not encoded as its header says: there is no text to judge.
      if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') return null;
    }
  }
  return null;
}

const META_CHARSET = /<meta[^<>]*?charset\s*=\s*(?:["']\s*)?([a-z0-9_:-]+)/i;
const decoders = new Map<string, TextDecoder | null>();

/** Byte order marks, which outrank every label (https://encoding.spec.whatwg.org/#bom-sniff). */
function charsetOfMark(body: Buffer): string | undefined {
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) return 'utf-8';
  if (body[0] === 0xff && body[1] === 0xfe) return 'utf-16le';
  return body[0] === 0xfe && body[1] === 0xff ? 'utf-16be' : undefined;
}

const HTML_START =
  /^\s*<(?:!doctype html|html|head|title|body|h1|div|p|table|style|script|a|br|b|!--|meta|link)(?=[\s>]|--)/i;

/** Whether a body without a Content-Type is HTML (https://mimesniff.spec.whatwg.org/#identifying-a-resource-with-an-unknown-mime-type). */
export function looksLikeHtml(text: string): boolean {
  return HTML_START.test(text.startsWith('\ufeff') ? text.slice(1, 512) : text.slice(0, 512));
}

/**
 * Decodes by the byte order mark, else by the charset of the Content-Type, else of a <meta> in the first KiB, else as UTF-8. A
 * <meta> that names UTF-16 was read as something else, so it means UTF-8
 * (https://html.spec.whatwg.org/#prescan-a-byte-stream-to-determine-its-encoding).
 */
export function decodeText(body: Buffer, content_type: string): string {
  const named = charsetOfMark(body) ?? /charset\s*=\s*["']?([^"';\s]+)/i.exec(content_type)?.[1];
  const label = (named ?? META_CHARSET.exec(body.toString('latin1', 0, 1024))?.[1])?.toLowerCase();
  if (label === undefined || label === 'utf-8' || label === 'utf8') return body.toString('utf8');
  const decoder = decoderFor(label);
  const is_known = decoder !== null && (named !== undefined || !decoder.encoding.startsWith('utf-16'));
  return is_known ? decoder.decode(body) : body.toString('utf8');
}

function decoderFor(label: string): TextDecoder | null {
  let decoder = decoders.get(label);
  if (decoder === undefined) {
    try {
      decoder = new TextDecoder(label);
    } catch {
      // RangeError: unknown charset. It is not cached, because servers may send any number of labels.
      return null;
    }
    decoders.set(label, decoder);
  }
  return decoder;
}

/** Without a Content-Type the beginning of the body tells. */
export function mayBeHtml(content_type: string | undefined): boolean {
  return content_type === undefined || /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(content_type);
}
