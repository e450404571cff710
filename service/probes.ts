// Answers the probes of METRICS_PORT from a thread of their own. The first thread gives it a heartbeat, the state of readiness each second,
// and the metrics when it asks.
import { isIP } from 'node:net';
import { Worker } from 'node:worker_threads';
import { Pulse } from '../checkers/pulse.ts';
import { PROBES, type ProbeReply } from '../http/server/probes.ts';
import type { FromProbes, Probed, ProbeThreadData, ToProbes } from './probe-thread.ts';
import { exitOf } from './supervised-thread.ts';

const BEAT_MS = 250;
const REPORT_MS = 1_000;
const HEAP = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 };

export interface RunningProbes {
  url: string;
  /** Resolves when the thread ends by itself. */
  failed: Promise<Error>;
  close(): Promise<void>;
}

export type AnswerProbe = (path: string) => Promise<ProbeReply>;

/** Resolves once the port is bound; rejects with the error of `listen` when it cannot be. */
export async function startProbes(
  { host, port }: { host: string; port: number },
  answerProbe: AnswerProbe,
): Promise<RunningProbes> {
  const pulse = new Pulse();
  const data: ProbeThreadData = { host, port, pulse: pulse.memory, paths: Object.keys(PROBES) };
  const thread = new Worker(new URL('./probe-thread.ts', import.meta.url), { workerData: data, resourceLimits: HEAP });
  const failure = Promise.withResolvers<Error>();
  const bound = Promise.withResolvers<number>();
  const post = (message: ToProbes) => thread.postMessage(message);
  let is_closing = false;
  let is_reporting = false;

  async function report(): Promise<void> {
    if (is_reporting) return;
    is_reporting = true;
    const probed = await answered(answerProbe('/readyz'));
    is_reporting = false;
    post({ type: 'ready', probed });
  }
  thread.on('message', async (message: FromProbes) => {
    if (message.type === 'listening') bound.resolve(message.port);
    else if (message.type === 'ask')
      post({ type: 'answer', id: message.id, probed: await answered(answerProbe(message.path)) });
    else
      bound.reject(
        Object.assign(new Error(message.message), { code: message.code, port: message.port, syscall: 'listen' }),
      );
  });
  thread.on('error', (error: Error) => failure.resolve(error));
  thread.on('exit', () => is_closing || failure.resolve(new Error('the thread of the probes ended')));
  void failure.promise.then(bound.reject);
  const timers = [setInterval(() => pulse.beat(), BEAT_MS), setInterval(report, REPORT_MS)];
  await report();

  async function close(): Promise<void> {
    is_closing = true;
    for (const timer of timers) clearInterval(timer);
    if (thread.threadId === -1) return;
    const ended = exitOf(thread);
    post({ type: 'stop' });
    await ended;
  }
  try {
    const bound_port = await bound.promise;
    return { url: `http://${isIP(host) === 6 ? `[${host}]` : host}:${bound_port}`, failed: failure.promise, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function answered(asking: ReturnType<AnswerProbe>): Promise<Probed> {
  const { status = 200, body, headers = {} } = await asking;
  const is_text = typeof body === 'string';
  const content_type = headers['content-type'] ?? 'application/json; charset=utf-8';
  return { status, body: is_text ? body : JSON.stringify(body), content_type };
}
