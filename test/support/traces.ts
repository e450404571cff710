// What a refused request must not leave behind: a job, a charge, files, URLs in the log.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { EventStore } from '../../events/event-store.ts';
import type { TestClient, TestService } from './service.ts';
import { openFolderLog } from './stores.ts';

export interface Traces {
  jobs: number;
  /** Of the credits; a newcomer has one, of the signup bonus. */
  transactions: number;
  credit_balance: number;
  uploads: string[];
  blobs: string[];
  /** Streams of URLs that have events. */
  listings: string[];
}

/** Of a newcomer's request in a service that has no other jobs. */
export const NO_TRACES: Traces = {
  jobs: 0,
  transactions: 1,
  credit_balance: 300,
  uploads: [],
  blobs: [],
  listings: [],
};

/** The log of a running service on a connection of its own, to be closed by the caller. */
export const openLog = ({ data_dir }: TestService): Promise<EventStore> => openFolderLog(data_dir);

/** `user`: of the gateway, whose address is `<user_id>@example.com`. */
export async function tracesOf(
  service: TestService,
  log: EventStore,
  user: TestClient,
  user_id: string,
): Promise<Traces> {
  const [jobs, transactions, credits] = await Promise.all([
    user.ask('GET', `/jobs?email=${user_id}@example.com`),
    user.ask('GET', '/users/me/credit-transactions'),
    user.ask('GET', '/users/me/credits'),
  ]);
  return {
    jobs: jobs.body.total,
    transactions: transactions.body.total,
    credit_balance: credits.body.credit_balance,
    uploads: await entries(join(service.data_dir, 'uploads')),
    blobs: (await entries(join(service.data_dir, 'blobs'))).filter((name) => name !== 'uploads'),
    listings: await listings(log),
  };
}

export async function listings(log: EventStore): Promise<string[]> {
  const streams = new Set<string>();
  for await (const { stream } of log.readAll({ filter: { categories: ['urls'] } })) streams.add(stream);
  return [...streams];
}

/** The folder of uploads is made by the first of them. */
async function entries(folder: string): Promise<string[]> {
  return await readdir(folder, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
}
