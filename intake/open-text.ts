// Opens a file that is text. A format's reader, with its parser, is loaded with the first file of the format.

import { IntakeError } from './errors.ts';
import { assertText, isFolded, isHtml, isJson, isMail, isXml } from './known-formats.ts';
import type { IntakeLimits } from './limits.ts';
import { ALL_COLUMNS, type OpenedText, type OpenOptions, type Sheet } from './sheet.ts';
import { knownEncoding, type TextEncoding } from './text-encoding.ts';
import { CHUNK_BYTES, encodingOfFile, readHead, type TextFile } from './text-source.ts';

interface TextFormat {
  /** Whether a text is of the format, by its beginning. */
  begins(text: string, encoding: TextEncoding): boolean;
  open(file: OpenedText): Promise<Sheet>;
}

/** The formats of texts. The first one that fits reads the file. */
const TEXT_FORMATS: readonly TextFormat[] = [
  { begins: isJson, open: openJsonOrTable },
  { begins: isXml, open: async (file) => (await import('./feed.ts')).openFeed(file) },
  { begins: isHtml, open: async (file) => (await import('./html.ts')).openHtml(file) },
  { begins: isFolded, open: async (file) => (await import('./folded-lines.ts')).openFoldedLines(file) },
  { begins: isMail, open: async (file) => (await import('./mail.ts')).openMail(file) },
  { begins: () => true, open: openTable },
];

async function openTable(file: OpenedText): Promise<Sheet> {
  return (await import('./text-sheet.ts')).openTextSheet(file);
}

async function openJsonOrTable(file: OpenedText): Promise<Sheet> {
  const [{ openJson }, { NoJson }] = await Promise.all([import('./json.ts'), import('./json-strings.ts')]);
  try {
    return await openJson(file);
  } catch (error) {
    const sheet = error instanceof NoJson ? await openTable(file).catch(() => null) : null;
    if (sheet === null) throw error;
    return sheet;
  }
}

export async function openText(
  source: TextFile,
  filename: string,
  limits: IntakeLimits,
  options: OpenOptions,
): Promise<Sheet> {
  const head = await readHead(source);
  const encoding = options.encoding ? named(options.encoding) : await encodingOfFile(source, head);
  const text = new TextDecoder(encoding).decode(head);
  assertText(head, text);
  const takes_all = options.column === ALL_COLUMNS;
  const column = takes_all ? null : (options.column ?? null);
  const is_whole = head.length < CHUNK_BYTES;
  const file = { source, encoding, filename, head: text, is_whole, limits, column, takes_all };
  return TEXT_FORMATS.find(({ begins }) => begins(text, encoding))!.open(file);
}

function named(label: string): string {
  const encoding = knownEncoding(label);
  if (encoding !== null) return encoding;
  const message = `There is no encoding ${JSON.stringify(label)}. Name one as the Encoding Standard does, such as windows-1250.`;
  throw new IntakeError('encoding_not_known', message);
}
