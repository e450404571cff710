// Entry of a reader thread: runs the read plans that the pool sends, one after the other.
import { parentPort, workerData } from 'node:worker_threads';
import { sqliteCode } from '../../sqlite.ts';
import { Connection } from './connection.ts';
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
const connection = Connection.reader(path, {
  own_thread: true,
  wanted: () => Atomics.load(cancelled_id, 0) !== reading,
});

port.on('message', ({ id, plan }: ReadMessage) => {
  reading = id;
  try {
    port.postMessage(runPlan(connection, plan) satisfies ReadAnswer);
  } catch (error) {
    connection.forget();
    const failed = { message: (error as Error).message, errcode: sqliteCode(error) };
    port.postMessage({ failed } satisfies ReadAnswer);
  }
});
