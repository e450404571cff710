// `npm run mcp`: messages over standard input and output, answered by a service elsewhere or by one of its own.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import test from 'ava';
import { passMessages } from '../../cli/mcp/pass-messages.ts';
import { freePort } from '../support/free-port.ts';
import { GENERATIONS, MODERN } from '../support/mcp.ts';
import { startTestService } from '../support/service.ts';

const MCP = fileURLToPath(new URL('../../cli/mcp.ts', import.meta.url));

async function connect(env: Record<string, string>, generation: (typeof GENERATIONS)[number]): Promise<Client> {
  const mode = generation === '2025' ? 'legacy' : { pin: MODERN };
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const inherited = Object.fromEntries(Object.entries(process.env).filter((one): one is [string, string] => !!one[1]));
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [MCP],
      env: { ...inherited, ...env },
      stderr: 'inherit',
    }),
  );
  return client;
}

test('it passes messages of both generations to the service that it is given', async (t) => {
  const service = await startTestService();
  try {
    const { token } = await service.keyHolder('alice');
    for (const generation of GENERATIONS) {
      const client = await connect({ URL_CHECKER_URL: service.url, URL_CHECKER_API_KEY: token }, generation);
      t.is((await client.listTools()).tools.length, 8);
      const { structuredContent } = await client.callTool({ name: 'get_usage', arguments: {} });
      t.like(structuredContent, { available_credits: 300 });
      await client.close();
    }
  } finally {
    await service.stop();
  }
});

test('without a service to ask it starts one of its own', async (t) => {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'mcp-'));
  const client = await connect({ DATA_DIR, CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8', LOG_LEVEL: 'warn' }, '2025');
  try {
    const urls = ['http://127.0.0.1:9/'];
    const { structuredContent } = await client.callTool({ name: 'check_urls', arguments: { urls } });
    t.like(structuredContent, { status: 'completed', verdicts: { unreachable: 1 } });
  } finally {
    await client.close();
    await rm(DATA_DIR, { recursive: true, force: true });
  }
});

test('a service that is away, a wrong key and a line that is no message are reported to the client', async (t) => {
  const service = await startTestService();
  try {
    const answers = async (url: string, lines: readonly string[]) => {
      const [input, output] = [new PassThrough(), new PassThrough()];
      input.end(lines.join('\n'));
      await passMessages(url, 'uc_live_wrong', input, output);
      const text = String(output.read() ?? '');
      return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
    };
    const list = '{"jsonrpc":"2.0","id":7,"method":"tools/list"}';
    t.like(await answers(service.url, ['{', list]), [
      { id: null, error: { code: -32700 } },
      { id: 7, error: { code: -32000, data: { code: 'invalid_api_key' } } },
    ]);
    t.deepEqual(await answers(service.url, ['{"jsonrpc":"2.0","method":"notifications/initialized"}']), []);
    const port = await freePort();
    const [away] = await answers(`http://127.0.0.1:${port}`, [list]);
    t.like(away, { id: 7, error: { code: -32603 } });
    t.is(away.error.message, `The service at http://127.0.0.1:${port} cannot be reached: ECONNREFUSED.`);
  } finally {
    await service.stop();
  }
});

test('a URL without a key ends with a sentence', async (t) => {
  const child = spawn(process.execPath, [MCP], {
    env: { ...process.env, URL_CHECKER_URL: 'http://127.0.0.1:9', URL_CHECKER_API_KEY: '' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said = (await child.stderr.toArray()).join('');
  t.regex(said, /^URL_CHECKER_URL must be a URL, and URL_CHECKER_API_KEY an API key of that service\./);
  t.is(child.exitCode ?? (await new Promise((resolve) => child.once('exit', resolve))), 2);
});
