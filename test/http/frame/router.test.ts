import test from 'ava';
import type { Context, Middleware } from 'koa';
import { isOfAnother } from '../../../http/frame/no-such-route.ts';
import { Routers } from '../../../http/frame/router.ts';

/** The route that a path leads to, with its parameters; null for none. */
async function find(routers: Routers, path: string, method = 'GET') {
  const ctx = { path, method, request: {} } as unknown as Context & { found?: string };
  await routers.routes()(ctx, async () => {});
  return ctx.found === undefined ? null : { to: ctx.found, params: { ...ctx.params } };
}

function routed(...paths: readonly string[]): (path: string) => ReturnType<typeof find> {
  const routers = new Routers();
  for (const path of paths) {
    const handler: Middleware = async (ctx, next) => {
      if (isOfAnother(ctx, { path })) return await next();
      (ctx as unknown as { found: string }).found = path;
    };
    routers.add({ method: 'GET', path }, handler);
  }
  return (path) => find(routers, path);
}

test('a path with a word is not the one with a parameter in its place, whichever was added first', async (t) => {
  const at = routed('/jobs/{job_id}', '/jobs/wait', '/jobs/{job_id}/{part}', '/jobs/wait/{part}');
  t.deepEqual(await at('/jobs/wait'), { to: '/jobs/wait', params: {} });
  t.deepEqual(await at('/jobs/other'), { to: '/jobs/{job_id}', params: { job_id: 'other' } });
  t.deepEqual(await at('/jobs/wait/1'), { to: '/jobs/wait/{part}', params: { part: '1' } });
});

test('a path has each of its segments, none of them empty, and no more', async (t) => {
  const at = routed('/', '/jobs', '/jobs/{job_id}', '/jobs/{job_id}/results', '/share/{token}');
  t.is((await at('/'))!.to, '/');
  t.is((await at('/share/a'))!.to, '/share/{token}');
  for (const path of ['', 'jobs', '/jobs/', '/jobs//results', '/jobs/1/', '/jobs/1/results/', '/Jobs', '//jobs', '*']) {
    t.is(await at(path), null, path);
  }
});

test('a parameter is decoded once, and stays as it is where it is no percent-encoding', async (t) => {
  const at = routed('/domains/{domain}');
  t.deepEqual((await at('/domains/b%C3%BCcher.example'))!.params, { domain: 'bücher.example' });
  t.deepEqual((await at('/domains/a%2Fb%2541'))!.params, { domain: 'a/b%41' });
  t.deepEqual((await at('/domains/100%'))!.params, { domain: '100%' });
});

test('a path that begins with a parameter would be of every router', (t) => {
  t.throws(() => routed('/{area}/wait'), { message: /begins with a word/ });
});
