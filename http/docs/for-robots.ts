// What programs that read websites look for: what they may read, and where the documents for them are.
import { Type } from '../../events/schema.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { routeOf } from '../frame/route.ts';
import { groupOf, type Parts } from '../group.ts';

const wire = ({ public_url }: Parts) => ({ public_url });
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'public');

/** Shares are for those who have their links; the rest of the service is no website. */
const ROBOTS = ['User-agent: *', 'Allow: /docs', 'Allow: /llms.txt', 'Disallow: /', ''].join('\n');

const llms = (base: string) => `# URL checker

> Checks lists of URLs in bulk: which are broken, which redirect, and which answer "200 OK" with a page that says "not found". One URL costs one credit.

Send \`Authorization: Bearer <API key>\`. Submit a list to \`POST /api/v2/jobs\`, follow the job at \`GET /api/v2/jobs/{id}\`, and read
\`GET /api/v2/jobs/{id}/results?cursor=\` until \`next_cursor\` is null. \`POST /api/v2/jobs/wait\` does all of it in one request. Send an \`Idempotency-Key\`
with each POST.

## Documents

- [Public API](${base}/api/v2/openapi.json): OpenAPI 3.1, for programs with an API key
- [Gateway](${base}/openapi.json): OpenAPI 3.1, for the console and administrators
- [Both as a page](${base}/docs)

## Agents

- [Model Context Protocol](${base}/mcp): streamable HTTP, with an API key; its tools check URLs, explain results and show credits
`;

const aText = (description: string, example: string) => ({
  200: { description, content_type: 'text/plain; charset=utf-8', schema: Type.String(), example },
});
const headers = { 'cache-control': 'public, max-age=3600' };

const robots = route({
  id: 'getRobotsTxt',
  method: 'GET',
  path: '/robots.txt',
  access: 'none',
  summary: 'Say what crawlers may read',
  responses: aText('The documents, and nothing else.', ROBOTS),
  handler: () => ({ body: ROBOTS, headers }),
});

const forModels = route({
  id: 'getLlmsTxt',
  method: 'GET',
  path: '/llms.txt',
  access: 'none',
  summary: 'Tell language models what the service is, and where its documents are',
  responses: aText('The service in a few words, in Markdown.', '# URL checker'),
  handler: (_, { public_url }) => ({ body: llms(public_url()), headers }),
});

export const group = groupOf(wire, [robots, forModels]);
