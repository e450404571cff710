// Passwords of submitted URLs, from outside: no answer shows one, and neither the log nor the read models keep one.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { startTestService } from '../support/service.ts';

const SECRET = 's3cret-of-ada';
const CSV = [
  `http://ada:${SECRET}@127.0.0.1:9/a`,
  `http://ada@127.0.0.1:9/a`,
  `ftp://ada:${SECRET}@files.example/b`,
  `http://ada:${SECRET}@blocked.example/c`,
].join('\n');

test('a password of a submitted URL is neither shown nor kept', async (t) => {
  const service = await startTestService();
  const [ada, root] = [await service.client('ada'), await service.client('root', { is_admin: true })];
  const key = await service.keyHolder('ada');
  const blocked = { domain: 'blocked.example', reason: 'r', block_type: 'legal', error_codes: [] };
  await root.ask('POST', '/domains/blocked', blocked);
  const shown: [string, string][] = [];
  const look = async (what: string, body: unknown) => void shown.push([what, JSON.stringify(body)]);

  const notes = [
    `see http://ada:${SECRET}@127.0.0.1:9/d`,
    'Mail:bob@example.com',
    `http://a.example/ or http://ada:${SECRET}@127.0.0.1:9/e`,
    `http://a.example/;http://ada:x/${SECRET}@127.0.0.1:9/f`,
  ];
  const rows = CSV.split('\n').map((url, n) => `${url},${notes[n]}`);
  const made = await ada.upload(`url,note\n${rows.join('\n')}\n`);
  await look('the job', made.body);
  t.like(made.body, { total_urls: 1, duplicates_removed: 1, invalid_urls_rejected: 1, blocked_urls_skipped: 1 });
  const { job_id } = made.body;
  await ada.ended(job_id);
  const { body: share } = await ada.ask('POST', `/jobs/${job_id}/share`);
  const by_key = await key.ask('POST', '/api/v2/jobs', { urls: CSV.split('\n') });
  await look('a job of the public API', by_key.body);
  await key.ended(by_key.body.job_id);
  const original = 'export?original=true';
  for (const path of ['results', 'url-list', 'stats', 'filter-options', 'rejected', 'export', original]) {
    await look(path, (await ada.ask('GET', `/jobs/${job_id}/${path}`)).body);
  }
  await look('share', await (await fetch(share.url)).text());
  await look('share page', await (await fetch(share.url, { headers: { accept: 'text/html' } })).text());
  await look('v2 results', (await key.ask('GET', `/api/v2/jobs/${by_key.body.job_id}/results`)).body);
  await look('logs', (await root.ask('GET', '/logs')).body);
  const form = new FormData();
  form.append('file', new Blob([CSV]), 'urls.csv');
  const analysis = await ada.send('/analyze-csv', { method: 'POST', body: form });
  t.is(analysis.status, 200);
  await look('analysis', analysis.body);

  t.true(shown.find(([what]) => what === original)![1].includes('Mail:bob@example.com'), 'an address is no password');
  for (const [what, text] of shown) t.false(text.includes(SECRET), `${what}: ${text.slice(0, 500)}`);
  t.true(shown.filter(([, text]) => text.includes('ada@127.0.0.1')).length >= 7, 'the user is shown');
  await service.stop(async (data_dir) => {
    for (const name of (await readdir(data_dir)).filter((each) => /[.]db/.test(each))) {
      t.false((await readFile(join(data_dir, name))).includes(SECRET), name);
    }
  });
});

test('API keys and the tokens of shares are kept as hashes alone', async (t) => {
  const service = await startTestService();
  const ada = await service.client('ada');
  const { body: made } = await ada.ask('POST', '/users/me/api-keys', { name: 'k' });
  const { body: job } = await ada.upload('http://127.0.0.1:9/a\n');
  await ada.ended(job.job_id);
  const { body: share } = await ada.ask('POST', `/jobs/${job.job_id}/share`);
  t.is((await fetch(share.url)).status, 200);
  const secrets: string[] = [made.key, share.token];
  for (const secret of secrets) t.true(secret.length >= 32, secret);
  await service.stop(async (data_dir) => {
    for (const entry of await readdir(data_dir, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const bytes = await readFile(join(entry.parentPath, entry.name));
      for (const secret of secrets) t.false(bytes.includes(secret), entry.name);
    }
  });
});
