// Reads the links of a PDF document: the targets of its annotations, which stand in plain dictionaries or in compressed streams of objects
// (ISO 32000-1, 7.5.7 and 12.6.4.7). It lays out no page, so a URL that is text and no link is not found. Decision 149 says why.
import { promisify } from 'node:util';
import { constants, inflate } from 'node:zlib';
import { breather } from '../time/event-loop.ts';
import { IntakeError } from './errors.ts';
import { assertInflation } from './inflation.ts';
import { notRead } from './known-formats.ts';
import type { IntakeLimits } from './limits.ts';
import { type Cell, listSheet, type Sheet } from './sheet.ts';
import { type TextFile, wholeOf } from './text-source.ts';

const inflated = promisify(inflate);
/** A document is searched in memory. */
const MAX_PDF_BYTES = 32 * 1024 * 1024;
const MAX_STREAM_BYTES = 8 * 1024 * 1024;
const MAX_DICTIONARY_BYTES = 2_048;
const URI = /\/URI\s*(?=[(<])/g;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', '\n': '', '\r': '' };

/** Throws `no_urls` for a document without a link, and `not_a_table` for one with a password. */
export async function openPdf(source: TextFile, column: string | null, limits: IntakeLimits): Promise<Sheet> {
  if (column === null) await assertLinks(source, limits);
  const cells = () => linkCells(source, limits);
  return listSheet({ encoding: 'utf-8', column }, { format: 'pdf', warnings: [], cells });
}

async function assertLinks(source: TextFile, limits: IntakeLimits): Promise<void> {
  for await (const page of linkCells(source, limits)) if (page.length > 0) return;
  const advice = 'Save it from its program with links, or copy its text into a text file.';
  throw new IntakeError('no_urls', `The PDF document has no links: URLs that are mere text are not read. ${advice}`);
}

/** The targets in the order of the file, numbered as rows. */
async function* linkCells(
  source: TextFile,
  { max_inflated_bytes, max_url_chars }: IntakeLimits,
): AsyncGenerator<Cell[]> {
  const bytes = await wholeOf(source, MAX_PDF_BYTES);
  const breathe = breather();
  let row = 0;
  let inflated_bytes = 0;
  let at = 0;
  async function* cellsOf(text: string): AsyncGenerator<Cell[]> {
    for (const { index, 0: key } of text.matchAll(URI)) {
      yield [{ row: ++row, value: uriAt(text, index + key.length, max_url_chars) }];
      await breathe();
    }
  }
  while (at < bytes.length) {
    const start = nextStream(bytes, at);
    const plain = bytes.toString('latin1', at, start.dictionary_end);
    if (/\/Encrypt\s+\d/.test(plain)) throw notRead('a PDF document with a password', 'Save it without one.');
    yield* cellsOf(plain);
    const end = bytes.indexOf('endstream', start.data);
    const data = bytes.subarray(start.data, end === -1 ? bytes.length : end);
    if (/\/ObjStm\b/.test(plain.slice(-MAX_DICTIONARY_BYTES))) {
      const text = await inflatedText(data);
      inflated_bytes += text.length;
      assertInflation({ bytes: inflated_bytes, compressed_bytes: bytes.length, max_inflated_bytes });
      yield* cellsOf(text);
    }
    at = start.data + data.length;
    await breathe();
  }
}

/** Where the next stream's dictionary ends and its data begins, or the end of the file. */
function nextStream(bytes: Buffer, from: number): { dictionary_end: number; data: number } {
  for (let at = bytes.indexOf('stream', from); at !== -1; at = bytes.indexOf('stream', at + 1)) {
    const [next, after] = [bytes[at + 6], bytes[at + 7]];
    if (bytes.toString('latin1', at - 3, at) === 'end') continue;
    if (next === LF) return { dictionary_end: at, data: at + 7 };
    if (next === CR) return { dictionary_end: at, data: at + (after === LF ? 8 : 7) };
  }
  return { dictionary_end: bytes.length, data: bytes.length };
}
const [LF, CR] = [10, 13];

/** The objects of a stream; none where its filter is another one or its data are damaged. */
async function inflatedText(data: Buffer): Promise<string> {
  const options = { maxOutputLength: MAX_STREAM_BYTES, finishFlush: constants.Z_SYNC_FLUSH };
  try {
    return (await inflated(data, options)).toString('latin1');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE')
      throw new IntakeError('zip_bomb', 'The PDF document inflates far more than its text does.');
    if (code.startsWith('Z_')) return '';
    throw error;
  }
}

function uriAt(text: string, start: number, max_url_chars: number): string {
  const raw = text.slice(start + 1, start + 4 * max_url_chars);
  const bytes = text[start] === '(' ? literal(raw) : fromHex(raw);
  const utf8 = Buffer.from(bytes, 'latin1').toString('utf8');
  return (utf8.includes('\ufffd') ? bytes : utf8).trim();
}

/** The text up to the bracket that closes it, without its escapes. */
function literal(raw: string): string {
  let text = '';
  let depth = 1;
  for (let at = 0; at < raw.length; at++) {
    const char = raw[at]!;
    if (char === '\\') {
      const octal = /^[0-7]{1,3}/.exec(raw.slice(at + 1, at + 4))?.[0];
      text += octal
        ? String.fromCharCode(Number.parseInt(octal, 8) & 0xff)
        : (ESCAPES[raw[at + 1]!] ?? raw[at + 1] ?? '');
      at += octal?.length ?? 1;
      continue;
    }
    if (char === '(') depth++;
    else if (char === ')' && --depth === 0) break;
    text += char;
  }
  return text;
}

const fromHex = (raw: string): string =>
  Buffer.from(raw.slice(0, raw.indexOf('>')).replace(/\s/g, ''), 'hex').toString('latin1');
