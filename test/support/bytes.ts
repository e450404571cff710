// Searches the bytes of every file of a folder, as somebody with the disk would.
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** How often each text stands in each file; files without any are left out. A file that goes meanwhile counts as empty. */
export async function occurrences(folder: string, texts: readonly string[]): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    for (const text of texts) {
      const count = countIn(bytes, Buffer.from(text));
      if (count > 0) found[`${relative(folder, path)}: ${text}`] = count;
    }
  }
  return found;
}

function countIn(bytes: Buffer, text: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + text.length)) count += 1;
  return count;
}
