import test from 'ava';
import { Router } from '../../../http/frame/router.ts';

function routed(...paths: readonly string[]): (path: string) => { to: string; params: object } | null {
  const router = new Router<string>();
  for (const path of paths) router.add({ method: 'GET', path }, path);
  return (path) => {
    const found = router.find(path);
    return found && { to: found.handlers.get('GET')!, params: found.params };
  };
}

test('a path with a word is not the one with a parameter in its place, whichever was added first', (t) => {
  const find = routed('/jobs/{job_id}', '/jobs/wait', '/{area}/wait/{part}', '/jobs/wait/{part}');
  t.deepEqual(find('/jobs/wait'), { to: '/jobs/wait', params: {} });
  t.deepEqual(find('/jobs/other'), { to: '/jobs/{job_id}', params: { job_id: 'other' } });
  t.deepEqual(find('/jobs/wait/1'), { to: '/jobs/wait/{part}', params: { part: '1' } });
  t.deepEqual(find('/users/wait/1'), { to: '/{area}/wait/{part}', params: { area: 'users', part: '1' } });
});

test('of paths with parameters in other places the one with the fewest is meant', (t) => {
  const find = routed('/jobs/{job_id}/{part}/now', '/{area}/all/results/now', '/jobs/all/{part}');
  t.is(find('/jobs/all/results/now')!.to, '/{area}/all/results/now');
  t.is(find('/jobs/1/results/now')!.to, '/jobs/{job_id}/{part}/now');
});

test('a path has each of its segments, none of them empty, and no more', (t) => {
  const find = routed('/', '/jobs', '/jobs/{job_id}', '/jobs/{job_id}/results');
  t.is(find('/')!.to, '/');
  for (const path of ['', 'jobs', '/jobs/', '/jobs//results', '/jobs/1/', '/jobs/1/results/', '/Jobs', '//jobs', '*']) {
    t.is(find(path), null, path);
  }
});

test('a parameter is decoded once, and stays as it is where it is no percent-encoding', (t) => {
  const find = routed('/domains/{domain}');
  t.deepEqual(find('/domains/b%C3%BCcher.example')!.params, { domain: 'bücher.example' });
  t.deepEqual(find('/domains/a%2Fb%2541')!.params, { domain: 'a/b%41' });
  t.deepEqual(find('/domains/100%')!.params, { domain: '100%' });
  t.deepEqual(find('/domains/%E0%A4%A')!.params, { domain: '%E0%A4%A' });
});

test('HEAD is asked of a GET, and a path names the methods that it takes', (t) => {
  const router = new Router<string>();
  router.add({ method: 'GET', path: '/jobs/{job_id}' }, 'read');
  router.add({ method: 'DELETE', path: '/jobs/{job_id}' }, 'delete');
  const { handlers } = router.find('/jobs/1')!;
  t.deepEqual(
    [...handlers],
    [
      ['HEAD', 'read'],
      ['GET', 'read'],
      ['DELETE', 'delete'],
    ],
  );
});

test('two routes of one method and path are a mistake, and so are two names of a parameter', (t) => {
  const router = new Router<string>();
  router.add({ method: 'GET', path: '/jobs/{job_id}' }, 'read');
  t.throws(() => router.add({ method: 'GET', path: '/jobs/{job_id}' }, 'read'), { message: /another route is there/ });
  t.throws(() => router.add({ method: 'POST', path: '/jobs/{id}' }, 'change'), {
    message: /the parameters there are job_id/,
  });
});
