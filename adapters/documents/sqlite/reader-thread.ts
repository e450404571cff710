// Entry of a reader thread: runs the read plans that the pool sends, one after the other.
import { parentPort, workerData } from 'node:worker_threads';
import { sqliteCode } from '../../sqlite.ts';
import { Connection, whenReadable } from './connection.ts';
import { type ReadPlan, type Rows, runPlan } from './read-plan.ts';

export interface ReaderData {
  path: string;
  /** Shared with the pool: the id of the read that it cancelled last. */
  cancelled_id: Int32Array;
}
export interface ReadMessage {
  id: number;
  plan: ReadPlan;
}
export type ReadAnswer = Rows | { failed: { message: string; errcode: number } };

const { path, cancelled_id } = workerData as ReaderData;
const port = parentPort!;
let reading = 0;
const connection = await Connection.reader(path, {
  wanted: () => Atomics.load(cancelled_id, 0) !== reading,
});

// The pool sends the next read when this one is answered.
port.on('message', async ({ id, plan }: ReadMessage) => {
  reading = id;
  try {
    port.postMessage((await whenReadable(() => runPlan(connection, plan))) satisfies ReadAnswer);
  } catch (error) {
    connection.forget();
    // An error of the port has SQLite's as its cause.
    const { message, cause } = error as Error;
    const failed = { message, errcode: sqliteCode(error) || sqliteCode(cause) };
    port.postMessage({ failed } satisfies ReadAnswer);
  }
});
