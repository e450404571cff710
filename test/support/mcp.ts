// The SDK's own client of MCP, of both generations of the protocol, and messages as they go over the wire.
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type Answer, answerOf } from './service.ts';

export const MODERN = '2026-07-28';
export const GENERATIONS = ['2025', '2026'] as const;
export type Generation = (typeof GENERATIONS)[number];

export async function connect(
  url: string,
  credentials: string,
  generation: Generation,
  options: ClientOptions = {},
): Promise<Client> {
  const mode = generation === '2025' ? 'legacy' : { pin: MODERN };
  const client = new Client({ name: 'test', version: '1' }, { ...options, versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${credentials}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  return client;
}

/** A message of 2026, in which a client says each time what it can. */
export async function send(
  url: string,
  credentials: string,
  message: { method: string; params?: Record<string, unknown> },
  capabilities: object = {},
): Promise<Answer> {
  const { method, params = {} } = message;
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const name = (params.name ?? params.taskId) as string | undefined;
  return await answerOf(
    await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${credentials}`, 'content-type': 'application/json' },
        ...{ accept: 'application/json, text/event-stream', 'mcp-protocol-version': MODERN, 'mcp-method': method },
        ...(name !== undefined && { 'mcp-name': name }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
    }),
  );
}

/** The result of a tool. */
export async function callTool(
  url: string,
  credentials: string,
  name: string,
  args: object,
  more: { capabilities?: object; inputResponses?: object; requestState?: string } = {},
  // biome-ignore lint/suspicious/noExplicitAny: what a test looks at it knows
): Promise<any> {
  const { capabilities, ...answers } = more;
  const params = { name, arguments: args, ...answers };
  const { status, body } = await send(url, credentials, { method: 'tools/call', params }, capabilities);
  if (status !== 200 || body.error) throw new Error(`${name}: ${status} ${JSON.stringify(body)}`);
  return body.result;
}
