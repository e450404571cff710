// The page that shows the OpenAPI documents to people, and its files.
import type { Context } from 'koa';
import { Type } from '../../events/schema.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { sendStored } from '../frame/answers/stored-files.ts';
import { HttpError } from '../frame/errors.ts';
import { anError, type Reply, type Route, routeOf } from '../frame/route.ts';
import { DOCS_FILES, DOCS_PAGE, DOCS_POLICY, openDocsFiles } from './docs-page.ts';

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
