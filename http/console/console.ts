// The console: its page at every address below `/console`, and the files that the page loads.
import type { Context } from 'koa';
import { Type } from '../../events/schema.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { sendStored } from '../frame/answers/stored-files.ts';
import { HttpError } from '../frame/errors.ts';
import { anError, type Reply, routeOf } from '../frame/route.ts';
import { groupOf, type Parts } from '../group.ts';
import { CONSOLE_POLICY } from './console-files.ts';

const wire = ({ consoleFiles }: Parts) => ({ files: consoleFiles });
type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'console');

const unchanged = { description: 'Nothing has changed since the answer that `If-None-Match` names.' };
const PAGE_HEADERS = { 'cache-control': 'no-cache', 'content-security-policy': CONSOLE_POLICY };

async function page({ ctx }: { ctx: Context }, { files }: Deps): Promise<Reply> {
  return sendStored((await files()).page, ctx, PAGE_HEADERS);
}

const Part = (description: string, example: string) =>
  Type.String({ minLength: 1, maxLength: 255, description, examples: [example] });
const area_part = Part('The area, or the page itself.', 'jobs');
const item_part = Part('What of the area is shown.', '2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11');

const shown = {
  method: 'GET',
  access: 'none',
  // The scripts of the page read it.
  query: Type.Object({}, { additionalProperties: true }),
  responses: {
    200: {
      description:
        'The page, the same at each address and for everybody. What it shows comes from the other operations.',
      content_type: 'text/html; charset=utf-8',
      schema: Type.String(),
      example: '<!doctype html>',
    },
    304: unchanged,
  },
} as const;

const start = route({ ...shown, id: 'showStart', path: '/', summary: 'Show the console', handler: page });

/** What people type. */
const home = route({ ...shown, id: 'showConsoleHome', path: '/console', summary: 'Show the console', handler: page });

const area = route({
  ...shown,
  id: 'showConsole',
  path: '/console/{area}',
  summary: 'Show an area of the console',
  params: Type.Object({ area: area_part }),
  handler: page,
});

const item = route({
  ...shown,
  id: 'showConsoleItem',
  path: '/console/{area}/{item}',
  summary: 'Show something of an area of the console',
  params: Type.Object({ area: area_part, item: item_part }),
  handler: page,
});

const part = route({
  ...shown,
  id: 'showConsolePart',
  path: '/console/{area}/{item}/{part}',
  summary: 'Show a part of something of an area of the console',
  params: Type.Object({ area: area_part, item: item_part, part: Part('The part of it.', 'compare') }),
  handler: page,
});

const asset = route({
  id: 'getConsoleFile',
  method: 'GET',
  path: '/console/assets/{file}',
  access: 'none',
  summary: 'Get a script or a style of the console',
  params: Type.Object({
    file: Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'Its name has the hash of its content.',
      examples: ['main-QLF4WUTX.js'],
    }),
  }),
  responses: {
    200: {
      description: 'The file, which never changes.',
      content_type: 'text/javascript; charset=utf-8',
      other_content_types: ['text/css'],
      schema: Type.String(),
      example: 'export{};',
    },
    304: unchanged,
  },
  errors: { 404: anError('This version of the service has no such file.', 'not_found', 'There is no such file.') },
  async handler({ params, ctx }, { files }) {
    const file = (await files()).assets.get(params.file);
    if (!file) throw new HttpError(404, 'not_found', 'There is no such file.');
    return sendStored(file, ctx, { 'cache-control': 'public, max-age=31536000, immutable' });
  },
});

export const group = groupOf(wire, [start, home, area, item, part, asset]);
