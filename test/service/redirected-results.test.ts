// Redirects and failures that may pass, as clients see them: the fields of a result, the filters, and the table of old and new
// addresses.
import test from 'ava';
import { startTestService } from '../support/service.ts';
import { type Behaviour, page, reply, startTestSite } from '../support/test-site.ts';

const to =
  (status: number, location: string): Behaviour =>
  (_request, socket) =>
    reply(socket, status, { Location: location });
const shown: Behaviour = (_request, socket) => page(socket, '<h1>Gardens of the town</h1>');

test('results are filtered by their redirects and by whether they may pass, and exported as old and new addresses', async (t) => {
  const site = await startTestSite({
    behaviours: {
      '/moved': to(301, '/new'),
      '/slash': to(308, '/slash/'),
      '/for-now': to(302, '/new'),
      '/both': to(301, '/for-now'),
      '/to-nothing': to(301, '/gone'),
      '/gone': (_request, socket) => reply(socket, 404, {}),
      '/later': (_request, socket) => reply(socket, 503, {}),
      '/new': shown,
      '/slash/': shown,
      '/plain': shown,
    },
  });
  const service = await startTestService();
  t.teardown(async () => {
    await service.stop();
    await site.close();
  });
  const paths = ['moved', 'slash', 'for-now', 'both', 'to-nothing', 'gone', 'later', 'plain'];
  const urlOf = (path: string) => `${site.origin}/${path}`;
  const alice = await service.client('alice');
  const { body: job } = await alice.upload(`url\n${paths.map(urlOf).join('\n')}\n`);
  t.is((await alice.ended(job.job_id)).status, 'completed');
  const holder = await service.keyHolder('alice');
  const apis = [
    (query: string) => alice.send(`/jobs/${job.job_id}/results?${query}`),
    (query: string) => holder.send(`/api/v2/jobs/${job.job_id}/results?items=true&${query}`),
  ];

  for (const results of apis) {
    const found = async (query: string): Promise<string[]> => {
      const { status, body } = await results(query);
      t.is(status, 200, query);
      return body.items.map(({ url }: { url: string }) => url.slice(site.origin.length + 1));
    };
    t.deepEqual(await found('redirect_kind=permanent'), ['moved', 'slash', 'to-nothing']);
    t.deepEqual(await found('redirect_kind=temporary'), ['for-now']);
    t.deepEqual(await found('redirect_kind=mixed'), ['both']);
    t.deepEqual(await found('redirect_kind=any'), ['moved', 'slash', 'for-now', 'both', 'to-nothing']);
    t.deepEqual(await found('redirect_kind=any&status_codes=404'), ['to-nothing']);
    t.deepEqual(await found('temporary=true'), ['later']);
    t.deepEqual(await found('temporary=false&non_2xx=true'), ['to-nothing', 'gone']);
    for (const query of ['redirect_kind=perhaps', 'temporary=perhaps']) t.is((await results(query)).status, 422, query);

    const { body } = await results('redirect_kind=mixed');
    t.like(body.items[0], {
      redirect_chain: [urlOf('for-now'), urlOf('new')],
      redirects: [
        { url: urlOf('for-now'), status_code: 301 },
        { url: urlOf('new'), status_code: 302 },
      ],
      redirect_kind: 'mixed',
      redirect_changes: 'address',
      verdict: 'redirected',
      temporary: false,
    });
    t.is((await results('url_contains=/slash')).body.items[0].redirect_changes, 'form');
    const [plain] = (await results('url_contains=/plain')).body.items;
    t.deepEqual([plain.redirects, plain.redirect_kind, plain.redirect_changes], [[], undefined, undefined]);
  }

  const table = async (query: string): Promise<string[]> => {
    const { status, body } = await alice.send(`/jobs/${job.job_id}/export?format=csv&redirects=true${query}`);
    t.is(status, 200);
    return body.replace('\ufeff', '').trimEnd().split('\r\n');
  };
  const head = 'old_url,new_url,redirect_kind,redirect_changes,status_code,row,cell';
  const moved = `${urlOf('moved')},${urlOf('new')},permanent,address,200,2,A2`;
  const slash = `${urlOf('slash')},${urlOf('slash/')},permanent,form,200,3,A3`;
  const for_now = `${urlOf('for-now')},${urlOf('new')},temporary,address,200,4,A4`;
  const both = `${urlOf('both')},${urlOf('new')},mixed,address,200,5,A5`;
  t.deepEqual(await table(''), [head, moved, slash, for_now, both]);
  t.deepEqual(await table('&redirect_kind=permanent'), [head, moved, slash]);
});
