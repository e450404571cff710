// The page that shows the OpenAPI documents to people, and its files.

import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Context } from 'koa';
import { Type } from '../../events/schema.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { type StoredFile, sendStored } from '../frame/answers/stored-files.ts';
import { HttpError } from '../frame/errors.ts';
import { anError, type Reply, type Route, routeOf } from '../frame/route.ts';

const route = routeOf<unknown>(GATEWAY, 'service');
/** Browsers cache the files and revalidate them each time, so that they show a new version of the service at once. */
const CACHED = 'public, no-cache';

export function docsRoutes(): Route<unknown>[] {
  const fileOf = openDocsFiles();

  async function sent(name: string, ctx: Context, headers: Record<string, string>): Promise<Reply> {
    const file = await fileOf(name);
    if (!file) throw new HttpError(404, 'not_found', 'There is no such file.');
    return sendStored(file, ctx, { 'cache-control': CACHED, ...headers });
  }

  const unchanged = { description: 'Nothing has changed since the answer that `If-None-Match` names.' };
  return [
    route({
      id: 'showDocs',
      method: 'GET',
      path: '/docs',
      access: 'none',
      summary: 'Show the documents of both APIs as a page',
      query: Type.Object({
        'urls.primaryName': Type.Optional(
          Type.String({
            maxLength: 100,
            description: 'The document that the page shows first. The page itself sets this parameter.',
            examples: ['Gateway'],
          }),
        ),
      }),
      responses: {
        200: {
          description: 'The page. It loads nothing from other hosts.',
          content_type: 'text/html; charset=utf-8',
          schema: Type.String(),
          example: '<!DOCTYPE html>',
        },
        304: unchanged,
      },
      handler: ({ ctx }) => sent(DOCS_PAGE, ctx, { 'content-security-policy': DOCS_POLICY }),
    }),
    route({
      id: 'getDocsFile',
      method: 'GET',
      path: '/docs/{file}',
      access: 'none',
      summary: 'Get a file of the page',
      params: Type.Object({
        file: Type.String({
          minLength: 1,
          maxLength: 100,
          description: `One of ${DOCS_FILES.join(', ')}.`,
          examples: ['page.js'],
        }),
      }),
      responses: {
        200: {
          description: 'The file.',
          content_type: 'text/javascript; charset=utf-8',
          other_content_types: ['text/css', 'image/png'],
          schema: Type.String(),
          example: '// Shows either OpenAPI document.',
        },
        304: unchanged,
      },
      errors: {
        404: anError('There is no such file.', 'not_found', 'There is no such file.'),
      },
      handler: ({ params, ctx }) => sent(DOCS_FILES.includes(params.file) ? params.file : '', ctx, {}),
    }),
  ];
}

// The files of the page that shows the OpenAPI documents: Swagger UI's and ours, all from this machine. The service serves only the
// files in this list, so that no path leads to another file.
const OURS = new URL('./docs-page/', import.meta.url);
const THEIRS = new URL('./', import.meta.resolve('swagger-ui-dist/package.json'));

const DOCS_PAGE = 'index.html';
const FILES: Readonly<Record<string, { folder: URL; content_type: string }>> = {
  [DOCS_PAGE]: { folder: OURS, content_type: 'text/html; charset=utf-8' },
  'page.css': { folder: OURS, content_type: 'text/css; charset=utf-8' },
  'page.js': { folder: OURS, content_type: 'text/javascript; charset=utf-8' },
  'swagger-ui.css': { folder: THEIRS, content_type: 'text/css; charset=utf-8' },
  'swagger-ui-bundle.js': { folder: THEIRS, content_type: 'text/javascript; charset=utf-8' },
  'swagger-ui-standalone-preset.js': { folder: THEIRS, content_type: 'text/javascript; charset=utf-8' },
  'favicon-32x32.png': { folder: THEIRS, content_type: 'image/png' },
};
const DOCS_FILES: readonly string[] = Object.keys(FILES).filter((name) => name !== DOCS_PAGE);

/** The page may run scripts and call APIs of its own origin only. Swagger UI's style sheet has pictures as `data:` URLs. */
const DOCS_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The returned function reads a file at its first request and caches it. It returns null for a name outside the list. */
function openDocsFiles(): (name: string) => Promise<StoredFile> | null {
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
