// The entry of a thread that only reads: runs the statements that it is sent, one read after the other.
import { parentPort, workerData } from 'node:worker_threads';
import { sqliteCode } from '../../sqlite.ts';
import { Connection } from './connection.ts';
import { type ReadPlan, type Rows, runPlan } from './read-plan.ts';

export interface ReaderData {
  path: string;
  /** The id of the read that is no longer wanted. */
  unwanted: Int32Array;
}
export interface ReadMessage {
  id: number;
  plan: ReadPlan;
}
export type ReadAnswer = { id: number } & (Rows | { failed: { message: string; errcode: number } });

/** A thread's own: the pages that are read often are in the system's cache. */
const CACHE_KIB = 16 * 1024;

const { path, unwanted } = workerData as ReaderData;
const port = parentPort!;
let reading = 0;
const connection = Connection.reader(path, {
  cache_kib: CACHE_KIB,
  own_thread: true,
  wanted: () => Atomics.load(unwanted, 0) !== reading,
});

port.on('message', ({ id, plan }: ReadMessage) => {
  reading = id;
  try {
    port.postMessage({ id, ...runPlan(connection, plan) } satisfies ReadAnswer);
  } catch (error) {
    const failed = { message: (error as Error).message, errcode: sqliteCode(error) };
    port.postMessage({ id, failed } satisfies ReadAnswer);
  }
});
