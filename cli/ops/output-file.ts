// Where a command writes what may be long: standard output, or a file that is there whole or not at all.
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { open, realpath, rename, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Run, UsageError } from './command.ts';

/** Characters that are written at once. */
const CHUNK_CHARS = 2 ** 16;
/** Others may not read what operators take from the log. */
export const MODE = 0o600;

/** Leaves no file behind where its block ends before `finish`. */
export interface Output extends AsyncDisposable {
  write(text: string): Promise<void> | void;
  /** Writes what is held back. */
  flush(): Promise<void>;
  /** The file has its name from here on. */
  finish(): Promise<void>;
}

/** `path`: undefined for standard output. Until it is finished, the name of the file ends with `.part`. */
export async function openOutput({ out, folder }: Pick<Run, 'out' | 'folder'>, path?: string): Promise<Output> {
  if (path === undefined) {
    const write = async (text: string) => void (out.write(text) || (await once(out, 'drain')));
    const { add, flush } = inChunks(write);
    return { write: add, flush, finish: flush, [Symbol.asyncDispose]: async () => {} };
  }
  const target = await partOf(resolve(folder, path));
  const file = await open(target.part, 'w', MODE);
  const { add, flush } = inChunks((text) => file.writeFile(text));
  return {
    ...{ write: add, flush },
    async finish() {
      await flush();
      await file.sync();
      await file.close();
      await target.finish();
    },
    async [Symbol.asyncDispose]() {
      await file.close().catch(() => {});
      target[Symbol.dispose]();
    },
  };
}

/**
 * A file that is written beside its name. `finish` gives it its name; what is left of it otherwise goes with the program at the latest.
 * Throws `UsageError` for a name that something else than a file has: it would take the place of a device.
 */
export async function partOf(named: string) {
  const path = await targetOf(named);
  const part = `${path}.${process.pid}.part`;
  const remove = () => rmSync(part, { force: true });
  process.once('exit', remove);
  return {
    part,
    finish: () => rename(part, path),
    [Symbol.dispose]() {
      process.off('exit', remove);
      remove();
    },
  };
}

/** The file that a path leads to, through a link where it is one. */
async function targetOf(path: string): Promise<string> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  if (found === undefined) return path;
  if (!found.isFile()) throw new UsageError(`${path} is no file`);
  return await realpath(path);
}

function inChunks(write: (text: string) => Promise<void>) {
  let held = '';
  async function flush(): Promise<void> {
    const text = held;
    held = '';
    if (text !== '') await write(text);
  }
  const add = (text: string) => {
    held += text;
    if (held.length >= CHUNK_CHARS) return flush();
  };
  return { add, flush };
}
