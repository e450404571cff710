// The texts in a message (RFC 2045, 2046, 3676): its parts with their types, decoded. It reads no addresses and no subjects, and copies nothing
// but texts.
import { breather } from '../time/event-loop.ts';
import { encodingOf } from './encoding.ts';
import { IntakeError } from './errors.ts';
import { knownEncoding } from './text-encoding.ts';

export interface MailText {
  /** Such as `text/html`. */
  type: string;
  text: string;
}

const MAX_DEPTH = 20;
const MAX_PARTS = 10_000;
/** Headers behind this are not read. */
const MAX_HEADER_BYTES = 64 * 1024;
/** As much as tells an encoding that no header names. */
const HEAD_BYTES = 64 * 1024;
/** Decoding this many bytes takes a few milliseconds. */
const PIECE_BYTES = 256 * 1024;
/** Parts of a page that hold no text. */
const NO_TEXT = new Set(['text/css', 'text/javascript']);
const [TAB, LF, CR, SPACE, DASH, EQUALS] = [9, 10, 13, 32, 45, 61];

/** Throws `broken_file` for parts in parts beyond any real message. */
export async function* textsOfMessage(message: Buffer, depth = 0): AsyncGenerator<MailText> {
  if (depth > MAX_DEPTH) throw new IntakeError('broken_file', 'The message has parts that are nested too deeply.');
  const { headers, body } = parted(message);
  const content_type = headerOf(headers, 'content-type') ?? 'text/plain';
  const type = content_type.split(';', 1)[0]!.trim().toLowerCase();
  if (type.startsWith('multipart/')) {
    const breathe = breather();
    for (const part of partsOf(body, parameterOf(content_type, 'boundary') ?? '')) {
      yield* textsOfMessage(part, depth + 1);
      await breathe();
    }
    return;
  }
  const is_message = type === 'message/rfc822';
  if (!is_message && (!type.startsWith('text/') || NO_TEXT.has(type))) return;
  const bytes = await decoded(body, headerOf(headers, 'content-transfer-encoding') ?? '');
  if (is_message) {
    yield* textsOfMessage(bytes, depth + 1);
    return;
  }
  const charset = parameterOf(content_type, 'charset');
  const encoding = (charset && knownEncoding(charset)) ?? (await encodingOf(bytes.subarray(0, HEAD_BYTES), false));
  yield { type, text: unfolded(new TextDecoder(encoding).decode(bytes), type, content_type) };
}

/** The headers, with those that go on in the next line joined, and what follows the empty line. */
function parted(message: Buffer): { headers: string; body: Buffer } {
  let end = message[0] === LF ? 0 : message[0] === CR && message[1] === LF ? 1 : -1;
  for (let at = end === -1 ? message.indexOf(LF) : -1; at !== -1; at = message.indexOf(LF, at + 1)) {
    const next = message[at + 1] === CR ? at + 2 : at + 1;
    if (message[next] !== LF) continue;
    end = next;
    break;
  }
  const head = message.subarray(0, Math.min(end === -1 ? message.length : end, MAX_HEADER_BYTES));
  return {
    headers: head.toString('latin1').replace(/\r?\n[ \t]+/g, ' '),
    body: end === -1 ? message.subarray(message.length) : message.subarray(end + 1),
  };
}

function headerOf(headers: string, name: string): string | null {
  for (const line of headers.split('\n')) {
    if (line.slice(0, name.length + 1).toLowerCase() === `${name}:`) return line.slice(name.length + 1).trim();
  }
  return null;
}

function parameterOf(header: string, name: string): string | null {
  for (const parameter of header.split(';').slice(1)) {
    const [key, ...value] = parameter.split('=');
    if (key!.trim().toLowerCase() === name) return value.join('=').trim().replace(/^"|"$/g, '');
  }
  return null;
}

/** The parts between the lines of a boundary. */
function* partsOf(body: Buffer, boundary: string): Generator<Buffer> {
  const line = Buffer.from(`--${boundary}`, 'latin1');
  let start = -1;
  let parts = 0;
  for (let at = body.indexOf(line); at !== -1; at = body.indexOf(line, at + line.length)) {
    const after = body[at + line.length];
    const is_line = at === 0 || body[at - 1] === LF;
    if (!is_line || !(after === undefined || after <= SPACE || after === DASH)) continue;
    if (start !== -1) yield body.subarray(start, at);
    if (++parts > MAX_PARTS) throw new IntakeError('broken_file', `The message has more than ${MAX_PARTS} parts.`);
    if (after === DASH) return;
    const end = body.indexOf(LF, at + line.length);
    start = end === -1 ? body.length : end + 1;
  }
  if (start !== -1) yield body.subarray(start);
}

async function decoded(body: Buffer, transfer_encoding: string): Promise<Buffer> {
  const name = transfer_encoding.toLowerCase();
  if (name === 'base64') return Buffer.from(body.toString('latin1'), 'base64');
  return name === 'quoted-printable' ? quotedPrintable(body) : body;
}

async function quotedPrintable(body: Buffer): Promise<Buffer> {
  const breathe = breather();
  const bytes = Buffer.allocUnsafe(body.length);
  let length = 0;
  for (let at = 0; at < body.length; at++) {
    if (at % PIECE_BYTES === 0) await breathe();
    const byte = body[at]!;
    if (byte === EQUALS) {
      let end = at + 1;
      while (body[end] === SPACE || body[end] === TAB || body[end] === CR) end++;
      if (body[end] === LF) {
        at = end;
        continue;
      }
      const digits = body.toString('latin1', at + 1, at + 3);
      if (/^[\da-f]{2}$/i.test(digits)) {
        bytes[length++] = Number.parseInt(digits, 16);
        at += 2;
        continue;
      }
    }
    bytes[length++] = byte;
  }
  return bytes.subarray(0, length);
}

/** The text without the line breaks that its type puts into long lines. */
function unfolded(text: string, type: string, content_type: string): string {
  if (type === 'text/calendar' || type === 'text/vcard') return text.replace(/\r?\n[ \t]/g, '');
  return parameterOf(content_type, 'delsp')?.toLowerCase() === 'yes' ? text.replace(/ \r?\n/g, '') : text;
}
