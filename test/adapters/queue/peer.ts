// An instance of the queue in another thread or process: `startPeer` starts this same file there and speaks with it.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { openSqliteQueue } from '../../../adapters/queue/sqlite/sqlite-queue.ts';
import type { Message } from '../../../checkers/queue.ts';

type Request =
  | { do: 'publish'; subject: string; messages: Message[] }
  | { do: 'publish many'; subject: string; from: number; to: number }
  | { do: 'pull'; subject: string; limit: number; wait_ms: number; ack_wait_ms: number }
  | { do: 'drain'; subject: string }
  | { do: 'broadcast' | 'listen'; subject: string; body?: unknown }
  | { do: 'heard' | 'close' };

export interface Peer {
  /** The peer's answer. */
  ask(request: Request): Promise<unknown>;
  /** Ends the peer as a crash would. */
  kill(): Promise<void>;
}

export async function startPeer(where: 'thread' | 'process', path: string): Promise<Peer> {
  const file = new URL(import.meta.url);
  const peer = where === 'thread' ? new Worker(file, { workerData: { queue_path: path } }) : fork(file, [path]);
  let last: Promise<unknown> = once(peer, 'message');
  await last;
  return {
    ask: (request) => {
      last = last.then(async () => {
        const answer = once(peer, 'message');
        if (peer instanceof Worker) peer.postMessage(request);
        else peer.send(request);
        const [{ value, error }] = await answer;
        if (error) throw new Error(error);
        return value;
      });
      return last;
    },
    kill: async () => {
      const ended = once(peer, 'exit');
      if (peer instanceof Worker) await peer.terminate();
      else (peer as ChildProcess).kill('SIGKILL');
      await ended;
    },
  };
}

async function serve(path: string, send: (message: unknown) => void, onRequest: (on: (it: Request) => void) => void) {
  const queue = await openSqliteQueue({ path });
  const signal = new AbortController().signal;
  const heard: unknown[] = [];
  const answer = async (request: Request): Promise<unknown> => {
    if (request.do === 'publish') return queue.publish(request.subject, request.messages);
    if (request.do === 'publish many') {
      for (let from = request.from; from < request.to; from += 100) {
        const messages = Array.from({ length: 100 }, (_, i) => ({ id: `message-${from + i}`, body: from + i }));
        await queue.publish(request.subject, messages);
      }
    } else if (request.do === 'pull') {
      const { ack_wait_ms, limit, wait_ms } = request;
      const consumer = await queue.consume(request.subject, { ack_wait_ms, max_deliveries: 5, signal });
      return (await consumer.pull(limit, wait_ms)).map(({ id, delivery }) => ({ id, delivery }));
    } else if (request.do === 'drain') {
      const consumer = await queue.consume(request.subject, { ack_wait_ms: 30_000, max_deliveries: 5, signal });
      const ids: string[] = [];
      for (;;) {
        const pulled = await consumer.pull(20, 500);
        if (pulled.length === 0) return ids;
        await Promise.all(pulled.map((it) => it.ack()));
        ids.push(...pulled.map((it) => it.id));
      }
    } else if (request.do === 'broadcast') return queue.broadcast(request.subject, request.body);
    else if (request.do === 'listen') return queue.listen(request.subject, (body) => heard.push(body), signal);
    else if (request.do === 'heard') return heard;
    else return queue.close();
  };
  onRequest((request) => {
    answer(request).then(
      (value) => send({ value }),
      (error) => send({ error: String(error) }),
    );
  });
  send('ready');
}

if (parentPort && workerData?.queue_path) {
  const port = parentPort;
  await serve(
    workerData.queue_path,
    (it) => port.postMessage(it),
    (on) => port.on('message', on),
  );
} else if (process.send && process.argv[1] === import.meta.filename) {
  await serve(
    process.argv[2]!,
    (it) => process.send!(it),
    (on) => process.on('message', (it) => on(it as Request)),
  );
}
