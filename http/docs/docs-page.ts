// The files of the page that shows the OpenAPI documents: Swagger UI's and ours, all from this machine. The service serves only the
// files in this list, so that no path leads to another file.
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { StoredFile } from '../frame/answers/stored-files.ts';

const OURS = new URL('./docs-page/', import.meta.url);
const THEIRS = new URL('./', import.meta.resolve('swagger-ui-dist/package.json'));

export const DOCS_PAGE = 'index.html';
const FILES: Readonly<Record<string, { folder: URL; content_type: string }>> = {
  [DOCS_PAGE]: { folder: OURS, content_type: 'text/html; charset=utf-8' },
  'page.css': { folder: OURS, content_type: 'text/css; charset=utf-8' },
  'page.js': { folder: OURS, content_type: 'text/javascript; charset=utf-8' },
  'swagger-ui.css': { folder: THEIRS, content_type: 'text/css; charset=utf-8' },
  'swagger-ui-bundle.js': { folder: THEIRS, content_type: 'text/javascript; charset=utf-8' },
  'swagger-ui-standalone-preset.js': { folder: THEIRS, content_type: 'text/javascript; charset=utf-8' },
  'favicon-32x32.png': { folder: THEIRS, content_type: 'image/png' },
};
export const DOCS_FILES: readonly string[] = Object.keys(FILES).filter((name) => name !== DOCS_PAGE);

/** The page may run scripts and call APIs of its own origin only. Swagger UI's style sheet has pictures as `data:` URLs. */
export const DOCS_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The returned function reads a file at its first request and caches it. It returns null for a name outside the list. */
export function openDocsFiles(): (name: string) => Promise<StoredFile> | null {
  const kept = new Map<string, Promise<StoredFile>>();
  return (name) => {
    if (!Object.hasOwn(FILES, name)) return null;
    const file = kept.get(name) ?? read(name);
    kept.set(name, file);
    return file;
  };
}

async function read(name: string): Promise<StoredFile> {
  const { folder, content_type } = FILES[name]!;
  const bytes = await readFile(new URL(name, folder));
  return {
    content_type,
    etag: `W/"${hash('sha1', bytes, 'base64url')}"`,
    bytes,
    gzipped: await promisify(gzip)(bytes),
  };
}
