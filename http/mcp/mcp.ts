// The interface for agents: the Model Context Protocol over streamable HTTP, without sessions, and the metadata by which its clients find the identity
// provider (RFC 9728).
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { Type } from '../../events/schema.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { MCP } from '../apis/mcp.ts';
import { ClientGone, HttpError } from '../frame/errors.ts';
import { jsonBody } from '../frame/request-bodies.ts';
import { restTurn } from '../frame/request-turns.ts';
import { anError, type Reply, type RouteRequest, routeOf } from '../frame/route.ts';
import { groupOf, type Parts } from '../group.ts';
import type { Brought } from './serving.ts';

/** Much more than a model writes. A longer list goes to POST /api/v2/jobs, or into a file. */
const MAX_BODY_BYTES = 1024 * 1024;

/** Loads the SDK at the first message. */
function openHandler() {
  let opening: Promise<(request: RouteRequest, brought: Brought) => Promise<Response>> | null = null;
  const open = async () => {
    const [sdk, { openServer }] = await Promise.all([import('@modelcontextprotocol/server'), import('./server.ts')]);
    const { fetch } = sdk.createMcpHandler(({ era, authInfo }) =>
      openServer(sdk, era, authInfo!.extra!.brought as Brought),
    );
    return async ({ ctx, body, signal }: RouteRequest, brought: Brought) => {
      const headers = Object.entries(ctx.req.headers).filter(([name]) => TAKEN.test(name)) as [string, string][];
      const request = new Request('http://localhost/mcp', { method: 'POST', headers, signal });
      return await fetch(request, {
        parsedBody: body,
        authInfo: { token: '', clientId: '', scopes: [], extra: { brought } },
      });
    };
  };
  return async (request: RouteRequest, brought: Brought): Promise<Response> =>
    await (await (opening ??= open()))(request, brought);
}
const TAKEN = /^(accept|content-type|mcp-[a-z-]+)$/;

const wire = ({ config, logger, public_url, sells }: Parts) => ({
  answer: openHandler(),
  log: logger,
  buy_url: () => (sells ? `${public_url()}/console/account/buy` : null),
  origin: () => new URL(public_url()).origin,
  resource: () => `${public_url()}/mcp`,
  issuer: config.identity_jwks_url === null ? null : config.identity_issuer,
});
type Deps = ReturnType<typeof wire>;

const message = routeOf<Deps>(
  MCP,
  'jobs',
)({
  id: 'postMcpMessage',
  method: 'POST',
  path: '/mcp',
  access: 'user',
  // The operation that a tool asks is refused where it changes something.
  is_always_open: true,
  summary: 'Answer a message of the Model Context Protocol',
  body: jsonBody(Type.Object({ jsonrpc: Type.Literal('2.0') }, { additionalProperties: true }), {
    limit_bytes: MAX_BODY_BYTES,
    example: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  }),
  responses: {
    200: {
      description: 'The answer: JSON, or a stream of events.',
      schema: Type.Object({}, { additionalProperties: true }),
      other_content_types: ['text/event-stream'],
      example: { jsonrpc: '2.0', id: 1, result: { tools: [] } },
    },
    202: { description: 'A notification was taken.' },
  },
  async handler(request, { answer, log, buy_url, origin }) {
    const { ask, request_id, signal, ctx } = request;
    // A call may wait for its job.
    restTurn(ctx.req);
    // Against pages that call a service in their visitor's network; credentials keep them out too.
    if (!['', origin()].includes(ctx.get('origin')))
      throw new HttpError(403, 'cross_site', 'Pages of other origins may not call this interface.');
    // Nothing here changes without a message of the client's, so nobody has to listen.
    if ((request.body as { method?: unknown }).method === 'subscriptions/listen')
      throw new HttpError(404, 'method_not_found', 'There are no notifications to listen for.');
    const response = await answer(request as RouteRequest, { ask, request_id, signal, log, buy_url: buy_url() });
    return await replyOf(response);
  },
});

async function replyOf({ status, headers, body }: Response): Promise<Reply> {
  if (status === 499) throw new ClientGone('the client left');
  const reply = { status, headers: Object.fromEntries(headers) };
  return body === null ? reply : { ...reply, stream: Readable.fromWeb(body as ReadableStream) };
}

const METADATA = '/.well-known/oauth-protected-resource';
export const metadataUrl = (public_url: string): string => `${public_url}${METADATA}/mcp`;

const metadata = (path: typeof METADATA | `${typeof METADATA}/mcp`, id: string) =>
  routeOf<Deps>(
    GATEWAY,
    'jobs',
  )({
    ...{ id, method: 'GET', path, access: 'none' },
    summary: 'Show how clients of MCP get a token',
    description: 'The metadata of RFC 9728 for `POST /mcp`, which takes API keys too.',
    responses: {
      200: {
        description: 'The identity provider whose tokens `POST /mcp` takes.',
        schema: Type.Object({
          resource: Type.String(),
          authorization_servers: Type.Array(Type.String()),
          bearer_methods_supported: Type.Array(Type.String()),
          resource_name: Type.String(),
        }),
        example: {
          resource: 'https://checker.example.com/mcp',
          authorization_servers: ['https://id.example.com/realms/main'],
          bearer_methods_supported: ['header'],
          resource_name: 'URL checker',
        },
      },
    },
    errors: {
      404: anError(
        'No identity provider is set: clients send an API key.',
        'not_found',
        'This service has no identity provider.',
      ),
    },
    handler(_, { issuer, resource }) {
      if (issuer === null) throw new HttpError(404, 'not_found', 'This service has no identity provider.');
      return {
        body: {
          resource: resource(),
          authorization_servers: [issuer],
          bearer_methods_supported: ['header'],
          resource_name: 'URL checker',
        },
      };
    },
  });

export const group = groupOf(wire, [
  message,
  metadata(METADATA, 'getProtectedResource'),
  metadata(`${METADATA}/mcp`, 'getProtectedResourceOfMcp'),
]);
