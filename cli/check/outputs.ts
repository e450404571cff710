// The files that a check writes, and what it prints.
import { createWriteStream } from 'node:fs';
import { open, realpath, stat, unlink } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { styleText } from 'node:util';
import type { Checked } from './checked.ts';
import { type FileFormat, type PrintFormat, reportOf } from './formats.ts';
import { fileId, type OpenInput } from './inputs.ts';
import { type Paint, plain } from './text.ts';

export interface OutFile {
  path: string;
  format: FileFormat;
}

/** A file cannot be written; the message names it. */
export class OutputError extends Error {
  readonly code = 'output';
}

/**
 * Throws `OutputError` unless each file can be written, without a change of a file that is there. Returns a function that removes the
 * files that this made, for a check that ends without a report.
 */
export async function tryOutFiles(
  outs: readonly OutFile[],
  inputs: readonly OpenInput[],
): Promise<() => Promise<void>> {
  const made: string[] = [];
  const forget = async () => {
    for (const path of made) await unlink(path).catch(() => {});
  };
  const taken = new Set<string>();
  for (const input of inputs) if (input.kind === 'file') taken.add(input.id);
  try {
    for (const { path } of outs) {
      const is_new = (await stat(path).catch(() => null)) === null;
      await (await open(path, 'a').catch(refused(`--out ${path}`))).close();
      // Where the path is a link that led nowhere, `open` has made the file that it names.
      if (is_new) made.push(await realpath(path));
      const opened = await stat(path, { bigint: true });
      if (taken.has(fileId(opened))) throw new OutputError(`--out ${path}: it is an input or another --out`);
      // A device takes several reports one after the other.
      if (opened.isFile()) taken.add(fileId(opened));
    }
  } catch (error) {
    await forget();
    throw error;
  }
  return forget;
}

export async function writeFiles(checked: Checked, outs: readonly OutFile[]): Promise<void> {
  for (const { path, format } of outs) {
    await pipeline(Readable.from(reportOf(checked, format, plain)), createWriteStream(path)).catch(
      refused(`--out ${path}`),
    );
  }
}

/** Prints the report. A reader that leaves early, such as `head`, is no fault. */
export async function print(checked: Checked, format: PrintFormat, out: NodeJS.WritableStream): Promise<void> {
  const paint: Paint = (style, text) => styleText(style, text, { stream: out });
  try {
    await pipeline(Readable.from(reportOf(checked, format, paint)), out, { end: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw refused('standard output')(error);
  }
}

const refused = (what: string) => (error: unknown) => {
  throw new OutputError(`${what}: ${(error as Error).message}`, { cause: error });
};
