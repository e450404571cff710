// The files that an input of a check names: a file, the lists and documents of a folder, or what a glob matches.
import type { BigIntStats, Dirent } from 'node:fs';
import { glob, readdir, stat } from 'node:fs/promises';
import { basename, join, matchesGlob, normalize, relative } from 'node:path';
import { DOCUMENT } from './read-file.ts';

/** Read in a folder. Other files are read when they are named. */
const LIST = /\.(?:csv|tsv|xlsx|ods)$/i;
/** May hold URLs too, beside much else: `package-lock.json`. */
const DATA = /\.(?:jsonl?|ndjson|xml|gz)$/i;
/** Folders of others, and hidden ones. */
const LEFT_OUT = /^(?:\..+|node_modules)$/;
const GLOB = /[*?[{]/;

export interface FoundFiles {
  paths: readonly string[];
  /** Whether they were searched for: a file among them may have no URL. */
  are_searched: boolean;
  /** Files of a folder that may hold URLs, and are not read. */
  unread: number;
}

/** Throws the system's error for a file that is not there. */
export async function findFiles(given: string, excludes: (path: string) => boolean): Promise<FoundFiles> {
  const found = await stat(given).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' && GLOB.test(given)) return null;
    throw error;
  });
  if (found === null) return matching(given, excludes);
  if (found.isDirectory()) return inFolder(given, excludes);
  return { paths: excludes(given) ? [] : [given], are_searched: false, unread: 0 };
}

async function matching(pattern: string, excludes: (path: string) => boolean): Promise<FoundFiles> {
  const exclude = (entry: Dirent) => LEFT_OUT.test(entry.name) && !pattern.includes(entry.name);
  const paths: string[] = [];
  for await (const entry of glob(pattern, { withFileTypes: true, exclude })) {
    const path = join(entry.parentPath, entry.name);
    const shown = pattern.startsWith('/') ? path : relative(process.cwd(), path);
    if (entry.isFile() && !excludes(shown)) paths.push(shown);
  }
  return { paths: paths.toSorted(), are_searched: true, unread: 0 };
}

async function inFolder(folder: string, excludes: (path: string) => boolean): Promise<FoundFiles> {
  const paths: string[] = [];
  let unread = 0;
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (LEFT_OUT.test(entry.name) || excludes(path)) continue;
    const is_file = entry.isFile() || (entry.isSymbolicLink() && (await leadsToFile(path)));
    if (is_file && (DOCUMENT.test(entry.name) || LIST.test(entry.name))) paths.push(path);
    else if (is_file && DATA.test(entry.name)) unread += 1;
    if (!entry.isDirectory()) continue;
    const inside = await inFolder(path, excludes);
    paths.push(...inside.paths);
    unread += inside.unread;
  }
  return { paths, are_searched: true, unread };
}

/** A link to a folder may lead back to where it stands. */
const leadsToFile = async (path: string) => (await stat(path).catch((): BigIntStats | null => null))?.isFile() === true;

export type Exclusion = ReturnType<typeof exclusionOf>;

const IS_URL = /^https?:/i;

/**
 * A pattern that begins like a URL leaves out the URLs that begin so, with `*` for any text. Any other one is a glob: without a slash for
 * the name of a file or a folder, with one for a path.
 * @example exclusionOf(['drafts', 'https://example.com/']).file('docs/drafts/a.md') // true
 */
export function exclusionOf(patterns: readonly string[]) {
  const urls = patterns.filter((pattern) => IS_URL.test(pattern)).map(startsLike);
  const globs = patterns.filter((pattern) => !IS_URL.test(pattern)).map(globOf);
  return {
    file(path: string): boolean {
      const shown = relative(process.cwd(), path);
      const parts = shown.split('/');
      return globs.some((pattern) =>
        pattern.includes('/')
          ? parts.some((_, n) => matchesGlob(parts.slice(0, n + 1).join('/'), pattern))
          : parts.some((part) => matchesGlob(part, pattern)) || matchesGlob(basename(path), pattern),
      );
    },
    url: (url: string) => urls.some((starts) => starts(url)),
  };
}

/** `./drafts/` and `drafts` are one pattern. */
const globOf = (pattern: string) => {
  const plain = normalize(pattern);
  return plain.endsWith('/') ? plain.slice(0, -1) : plain;
};

function startsLike(pattern: string): (url: string) => boolean {
  const [first = '', ...parts] = pattern.split('*');
  return (url) => {
    if (!url.startsWith(first)) return false;
    let at = first.length;
    for (const part of parts) {
      const found = url.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    return true;
  };
}
