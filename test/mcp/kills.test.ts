// kill -9 at any moment of calls and tasks: a client that repeats its calls loses no job, and is charged for none twice.
import { randomInt, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { freePort } from '../support/free-port.ts';
import { assertExactFolder } from '../support/ledger.ts';
import { callTool, send } from '../support/mcp.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { openSite, page } from '../support/sites.ts';
import { until } from '../support/until.ts';

/** KILLS=1000 takes an hour. */
const KILLS = Number(process.env.KILLS ?? 3);
const CALLS = 6;
const URLS = 20;
const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

test('calls that are repeated after kill -9 become one task each, which ends, charged once', async (t) => {
  t.timeout(KILLS * 100_000);
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-mcp-'));
  // Slow enough that a task is under way for a while.
  const site = await openSite((request, response) => setTimeout(page, 10, request, response));
  const env = {
    ...{ DATA_DIR: data_dir, PORT: String(await freePort()), SIGNUP_CREDITS: String(KILLS * CALLS * URLS) },
    ...{
      CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8',
      CHECKER_ACK_WAIT_MS: '1000',
      CHECKER_RETRIES: '0',
      TRIAL_CREDITS: '0',
    },
  };
  const token = await issueLocalToken(data_dir, { user_id: 'alice', email: null, is_admin: false, hours: 24 });
  let service: ServiceProcess = await startServiceProcess(env);
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      const { url } = service;
      const calls = Array.from({ length: CALLS }, (_, call) => ({
        urls: Array.from({ length: URLS }, (_, n) => `${site.url}/${kill}/${call}/${n}`),
        idempotency_key: randomUUID(),
        wait_seconds: call % 2,
      }));
      const ids = new Set<string>();
      /** The id of the call's task, or of its job where that has ended; null where no answer came. */
      const call = async (args: object): Promise<string | null> => {
        const result = await callTool(url, token, 'check_urls', args, { capabilities }).catch(() => null);
        const id: string | null = result?.taskId ?? result?.structuredContent?.job_id ?? null;
        if (id !== null) ids.add(id);
        return id;
      };
      const first = Promise.all(calls.map(call));
      const later_ms = randomInt(400);
      await new Promise((resolve) => setTimeout(resolve, later_ms));
      await service.kill();
      await first;
      service = await startServiceProcess(env);
      for (const args of calls) await until(async () => (await call(args)) !== null);
      const killed = `kill ${kill} after ${later_ms} ms`;
      t.is(ids.size, CALLS, killed);
      for (const taskId of ids) {
        const task = async () => {
          const { body } = await send(url, token, { method: 'tasks/get', params: { taskId } }, capabilities);
          return body.result;
        };
        await until(async () => (await task())?.status === 'completed');
        t.like((await task()).result.structuredContent, { status: 'completed', completed_urls: URLS }, killed);
      }
      const usage = await callTool(url, token, 'get_usage', {});
      t.is(usage.structuredContent.available_credits, (KILLS - kill - 1) * CALLS * URLS, killed);
    }
    t.is(await service.stop(), 0);
    await assertExactFolder(t, data_dir);
  } finally {
    await service.kill();
    await site.close();
    await rm(data_dir, { recursive: true, force: true });
  }
});
