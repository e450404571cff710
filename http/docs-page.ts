// The page that shows the OpenAPI documents: Swagger UI's own files and ours, from this machine alone. What is not in the
// list is not served, so that no path leads anywhere else.
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

export interface DocsFile {
  content_type: string;
  etag: string;
  bytes: Buffer;
  gzipped: Buffer;
}

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

/**
 * What the page may do: run the scripts and ask the APIs of where it came from. Pictures in the style sheet are `data:`.
 * Scripts set styles on elements, which is no inline style.
 */
export const DOCS_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Reads each file when it is first asked for, and keeps it. Null for one that is not in the list. */
export function openDocsFiles(): (name: string) => Promise<DocsFile> | null {
  const kept = new Map<string, Promise<DocsFile>>();
  return (name) => {
    if (!Object.hasOwn(FILES, name)) return null;
    const file = kept.get(name) ?? read(name);
    kept.set(name, file);
    return file;
  };
}

async function read(name: string): Promise<DocsFile> {
  const { folder, content_type } = FILES[name]!;
  const bytes = await readFile(new URL(name, folder));
  return {
    content_type,
    etag: `W/"${hash('sha1', bytes, 'base64url')}"`,
    bytes,
    gzipped: await promisify(gzip)(bytes),
  };
}
