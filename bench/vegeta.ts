// Runs vegeta, which asks at a fixed rate whatever the answers take, and so measures latencies that no slow answer hides.
// VEGETA names another binary than the one on the path: go install github.com/tsenart/vegeta/v12@latest
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface Target {
  method: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
}

export interface Attack {
  /** Answers a second, refusals and failures left out. */
  per_s: number;
  answers: number;
  /** Answers that were none of the expected kind, by status; 0 counts requests without one. */
  failed: Readonly<Record<number, number>>;
  latency_ms: { p50: number; p99: number; p999: number; max: number };
}

const PROGRAM = process.env.VEGETA ?? 'vegeta';
const NS_A_MS = 1e6;

/** Sends the targets in turn, again and again until the time is up: `per_s` a second, or without it as fast as `workers` requests at once go. */
export async function attack(
  targets: readonly Target[],
  { seconds, per_s = 0, workers = 16 }: { seconds: number; per_s?: number; workers?: number },
): Promise<Attack> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-vegeta-'));
  try {
    const [list, found] = [join(folder, 'targets'), join(folder, 'results')];
    await writeFile(list, targets.map((one) => `${lineOf(one)}\n`).join(''));
    const at_once = per_s === 0 ? ['-workers', workers, '-max-workers', workers] : ['-workers', workers];
    const rate = ['-rate', per_s === 0 ? '0' : `${Math.round(per_s)}/s`, '-duration', `${seconds}s`, '-timeout', '60s'];
    const flags = [...rate, ...at_once, '-format', 'json', '-targets', list, '-output', found, '-max-body', '0'];
    await run(['attack', ...flags.map(String)], () => {});
    return await summed(found);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const lineOf = ({ method, url, headers, body }: Target) =>
  JSON.stringify({
    ...{ method, url },
    header: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    ...(body !== undefined && { body: Buffer.from(body).toString('base64') }),
  });

async function summed(found: string): Promise<Attack> {
  const latencies: number[] = [];
  const failed: Record<number, number> = {};
  let [first_ns, last_ns] = [Number.POSITIVE_INFINITY, 0];
  await run(['encode', '-to', 'csv', found], (line) => {
    const [sent_ns, code, latency_ns] = line.split(',', 3).map(Number) as [number, number, number];
    first_ns = Math.min(first_ns, sent_ns);
    last_ns = Math.max(last_ns, sent_ns + latency_ns);
    if (code >= 200 && code < 300) latencies.push(latency_ns / NS_A_MS);
    else failed[code] = (failed[code] ?? 0) + 1;
  });
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.ceil(latencies.length * share) - 1)] ?? 0;
  return {
    per_s: latencies.length / ((last_ns - first_ns) / 1e9),
    ...{ answers: latencies.length, failed },
    latency_ms: { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: latencies.at(-1) ?? 0 },
  };
}

async function run(args: readonly string[], line: (text: string) => void): Promise<void> {
  const child = spawn(PROGRAM, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit') as Promise<[number | null]>;
  for await (const text of createInterface({ input: child.stdout })) line(text);
  const [code] = await ended;
  if (code !== 0) throw new Error(`vegeta ${args[0]} ended with ${code}`);
}
