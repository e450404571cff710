// The tools, called by the SDK's own client in both generations of the protocol.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { connect, GENERATIONS } from '../support/mcp.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { openSite, page, type Site } from '../support/sites.ts';

const NAMES = 'check_urls start_job get_job get_results explain_result resume_job cancel_job get_usage'.split(' ');

let service: TestService;
let site: Site;
test.before(async () => {
  service = await startTestService();
  site = await openSite((request, response) => {
    if (request.url!.startsWith('/gone')) response.writeHead(404).end();
    else page(request, response);
  });
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
});

// biome-ignore lint/suspicious/noExplicitAny: the client has held it to the tool's schema
const contentOf = (result: { structuredContent?: unknown }) => result.structuredContent as any;
const textOf = ({ content }: { content: readonly { type: string }[] }) => (content[0] as { text?: string }).text ?? '';

for (const generation of GENERATIONS) {
  test(`a client of ${generation} lists the tools with schemas, and calls each`, async (t) => {
    const key = await service.keyHolder(`alice-${generation}`);
    const client = await connect(service.url, key.token, generation);
    const { tools } = await client.listTools();
    t.deepEqual(
      tools.map(({ name }) => name),
      NAMES,
    );
    for (const { name, outputSchema, description } of tools) t.truthy(outputSchema && description, name);
    const call = (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args });

    const checked = await call('check_urls', { urls: [`${site.url}/a`, `${site.url}/gone`, `${site.url}/a`] });
    t.like(contentOf(checked), { status: 'completed', duplicates_removed: 1, verdicts: { ok: 1, broken: 1 } });
    t.deepEqual(
      contentOf(checked).results.map(({ verdict }: { verdict: string }) => verdict),
      ['ok', 'broken'],
    );
    const { job_id } = contentOf(checked);
    t.is(textOf(checked), `Job ${job_id} is completed: 2 of 2 URLs checked. 1 ok, 1 broken.`);

    t.like(contentOf(await call('get_job', { job_id })), { job_id, status: 'completed' });
    const broken = contentOf(await call('get_results', { job_id, status_group: 'broken', limit: 1 }));
    t.like(broken, { total: 1, next_cursor: null, results: [{ url: `${site.url}/gone` }] });
    t.false('items' in broken);
    const explained = await call('explain_result', { job_id, url: `${site.url}/gone` });
    t.regex(
      textOf(explained),
      /is broken: answers 4xx or 5xx\. Its last answer was 404\. Correct the link or remove it\.$/,
    );
    t.like(contentOf(await call('get_usage', {})), { available_credits: 298 });

    const started = contentOf(await call('start_job', { urls: [`${site.url}/b`] }));
    await key.ended(started.job_id);
    const cancelled = await call('cancel_job', { job_id: started.job_id });
    t.true(cancelled.isError);
    t.regex(textOf(cancelled), /^A completed job cannot be cancelled/);
    t.true((await call('resume_job', { job_id })).isError);
    await client.close();
  });
}

test('a repeated call with a key gets the same job, and is charged once', async (t) => {
  const key = await service.keyHolder('carol');
  const client = await connect(service.url, key.token, '2026');
  const args = { urls: [`${site.url}/1`, `${site.url}/2`], idempotency_key: randomUUID() };
  const calls = ['check_urls', 'check_urls', 'check_urls'].map((name) => client.callTool({ name, arguments: args }));
  const ids = (await Promise.all(calls)).filter(({ isError }) => !isError).map((result) => contentOf(result).job_id);
  const again = contentOf(await client.callTool({ name: 'check_urls', arguments: args }));
  t.deepEqual([...new Set(ids)], [again.job_id]);
  t.like((await key.ask('GET', '/api/v2/usage')).body, { available_credits: 298 });
  const other = await client.callTool({ name: 'check_urls', arguments: { ...args, urls: [`${site.url}/3`] } });
  t.like(contentOf(other), { error: { code: 'idempotency_key_mismatch' } });
  await client.close();
});

test('errors in arguments are explained, and a job of another user is not found', async (t) => {
  const [alice, mallory] = [await service.keyHolder('dora'), await service.keyHolder('mallory')];
  const { body: job } = await alice.ask('POST', '/api/v2/jobs', { urls: [`${site.url}/private`] });
  const client = await connect(service.url, mallory.token, '2026');
  const call = (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args });
  const wrong = [
    ['check_urls', { urls: [] }, /^arguments\.urls: /],
    ['check_urls', { urls: 'x' }, /^arguments\.urls: must be array$/],
    ['check_urls', { urls: ['not a url'] }, /There is no URL to check/],
    [
      'check_urls',
      { urls: ['http://10.0.0.1/'] },
      /"http:\/\/10\.0\.0\.1\/" is a private or reserved address.*CHECKER_ALLOW_ADDRESSES/,
    ],
    ['check_urls', { urls: ['http://a.example/'], wait_seconds: 46 }, /^arguments\.wait_seconds: must be at most 45$/],
    ['get_results', { job_id: 'x', verdicts: 'ok' }, /^arguments\.verdicts: unknown field; allowed: /],
  ] as const;
  for (const [name, args, says] of wrong) {
    const result = await call(name, args);
    t.true(result.isError, name);
    t.regex(textOf(result), says);
  }
  for (const name of ['get_job', 'get_results', 'resume_job', 'cancel_job']) {
    const result = await call(name, { job_id: job.job_id });
    t.like(contentOf(result), { error: { code: 'not_found' } }, name);
  }
  t.like(contentOf(await call('explain_result', { job_id: job.job_id, url: site.url })), {
    error: { code: 'not_found' },
  });
  await t.throwsAsync(call('no_such_tool', {}), { message: /There is no tool "no_such_tool"/ });
  t.like((await mallory.ask('GET', '/api/v2/usage')).body, { available_credits: 300 });
  await client.close();
});

test('a call that reads pages of results counts as one large request', async (t) => {
  const own = await startTestService({ HEAVY_REQUESTS_PER_CALLER: '1' });
  t.teardown(() => own.stop());
  const { token } = await own.keyHolder('dora');
  const client = await connect(own.url, token, GENERATIONS[0]!);
  const wanted = `${site.url}/wanted`;
  const urls = [...Array.from({ length: 120 }, (_, n) => `${wanted}-${n}`), wanted];
  const { job_id } = contentOf(await client.callTool({ name: 'check_urls', arguments: { urls } }));
  const explained = await client.callTool({ name: 'explain_result', arguments: { job_id, url: wanted } });
  t.like(contentOf(explained).result, { url: wanted, verdict: 'ok' }, textOf(explained));
  await client.close();
});
