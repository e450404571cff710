// What `bench/http.ts` compares the service with, in a process of its own: Koa and its router alone, tokens in a map, and answers made
// from the rows of the service's own file of documents by prepared statements. It validates, counts, logs and bounds nothing.
// What the service sums up for an answer, such as statistics, this one reads as a text of a table.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import Router from '@koa/router';
import Koa from 'koa';
import type { JobDocument } from '../readmodels/jobs/jobs.ts';
import type { StoredResult } from '../readmodels/results/results.ts';

export interface BareOptions {
  documents: string;
  /** The live tables. */
  tables: { jobs: string; results: string };
  /** Owner by credentials. */
  tokens: Readonly<Record<string, string>>;
  /** Answers by path. */
  texts: Readonly<Record<string, { type: string; text: string }>>;
}

/** Starts the process; it ends with `stop`, or with its parent. */
export async function startBareKoa(options: BareOptions): Promise<{ url: string; pid: number; stop(): Promise<void> }> {
  const child = fork(fileURLToPath(import.meta.url), ['serve'], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  child.send(options);
  const [url] = (await once(child, 'message')) as [string];
  return {
    url,
    pid: child.pid!,
    async stop() {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}

function serve({ documents, tables, tokens, texts }: BareOptions): void {
  const db = new DatabaseSync(documents, { readOnly: true });
  const kept = new DatabaseSync(':memory:');
  kept.exec('CREATE TABLE answers (path TEXT PRIMARY KEY, type TEXT, text TEXT)');
  for (const [path, { type, text }] of Object.entries(texts)) {
    kept.prepare('INSERT INTO answers VALUES (?, ?, ?)').run(path, type, text);
  }
  const owners = new Map(Object.entries(tokens));
  const jobById = db.prepare(`SELECT doc FROM "${tables.jobs}" WHERE _id = ?`);
  const jobsOf = db.prepare(
    `SELECT doc FROM "${tables.jobs}" WHERE "f:owner_id" = ? ORDER BY "f:created_at" DESC LIMIT ? OFFSET ?`,
  );
  const countOf = db.prepare(`SELECT count(*) AS total FROM "${tables.jobs}" WHERE "f:owner_id" = ?`);
  const page = (condition: string) =>
    db.prepare(`
      SELECT doc FROM "${tables.results}" WHERE "f:job_id" = ? AND "f:index" > ? ${condition}
      ORDER BY "f:job_id", "f:index" LIMIT ?`);
  const [all, broken] = [page(''), page(`AND "f:is_broken" = x'01'`)];
  const answerAt = kept.prepare('SELECT type, text FROM answers WHERE path = ?');

  const parsed = <T>(rows: unknown[]) => rows.map((row) => JSON.parse((row as { doc: string }).doc) as T);
  const ownerOf = (authorization: string) => owners.get(authorization.slice('Bearer '.length));
  const jobOf = (id: string) => parsed<JobDocument>(jobById.all(id))[0];
  const router = new Router();
  const owned = (ctx: Koa.Context, id: string): JobDocument | null => {
    const job = jobOf(id);
    if (job && job.owner_id === ownerOf(ctx.get('authorization'))) return job;
    ctx.status = 404;
    return null;
  };
  router.get('/jobs', (ctx) => {
    const owner = ownerOf(ctx.get('authorization'))!;
    const { total } = countOf.get(owner) as { total: number };
    ctx.body = { items: parsed<JobDocument>(jobsOf.all(owner, 20, 0)).map(jobView), total, limit: 20, offset: 0 };
  });
  router.get('/jobs/:id', (ctx) => {
    const job = owned(ctx, ctx.params.id!);
    if (job) ctx.body = { ...jobView(job), urls_in_flight: 0 };
  });
  router.get('/jobs/:id/results', (ctx) => {
    const job = jobOf(ctx.params.id!)!;
    const of = ctx.query.status_group === 'broken' ? broken : all;
    const items = parsed<StoredResult>(of.all(job._id, -1, 50)).map(resultView);
    ctx.body = { items, total: job.completed_urls, limit: 50, offset: 0 };
  });
  router.get('/api/v2/jobs/:id/results', (ctx) => {
    const job = owned(ctx, ctx.params.id!);
    if (!job) return;
    const results = parsed<StoredResult>(all.all(job._id, -1, 50)).map(resultView);
    ctx.body = { results, next_cursor: 'x'.repeat(60), total: job.completed_urls };
  });
  router.get(/.*/, (ctx) => {
    const { type, text } = answerAt.get(ctx.path) as { type: string; text: string };
    ctx.type = type;
    ctx.body = text;
  });
  const server = new Koa().use(router.routes()).listen(0, '127.0.0.1', () => {
    process.send!(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
}

const jobView = (job: JobDocument) => ({
  job_id: job._id,
  status: job.status,
  total_urls: job.total_urls,
  completed_urls: job.completed_urls,
  credits_allocated: job.credits_allocated,
  credits_refunded: job.credits_refunded,
  duplicates_removed: job.duplicates_removed,
  invalid_urls_rejected: job.invalid_urls_rejected,
  blocked_urls_skipped: job.blocked_urls_skipped,
  pause_reason: job.pause_reason,
  failure_reason: job.failure_reason,
  created_at: job.created_at,
  started_at: job.started_at,
  completed_at: job.completed_at,
  source: job.source,
  filename: job.filename,
  results_expired_at: null,
});

const resultView = ({ url, status_code, is_broken, ...stored }: StoredResult) => ({
  ...{ url, row: null, cell: null, status_code },
  final_url: stored.final_url ?? (status_code === null ? null : url),
  is_broken,
  is_soft_404: stored.is_soft_404 ?? false,
  redirect_chain: stored.redirect_chain ?? [],
  response_time_ms: stored.response_time_ms ?? null,
  content_type: stored.content_type ?? null,
  error_code: stored.error_code ?? null,
  verdict: stored.verdict ?? 'ok',
  protection: null,
  attempts: stored.attempts ?? 1,
});

if (import.meta.main && process.argv[2] === 'serve') {
  process.once('message', (options) => serve(options as BareOptions));
  process.on('disconnect', () => process.exit(0));
}
