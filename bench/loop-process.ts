// Runs a contestant of a benchmark in a process of its own: it receives lists of URLs and reports the time of each.
import { fork } from 'node:child_process';

export interface Measured {
  ms: number;
  /** Processor time of the contestant's process, in microseconds a URL. */
  cpu_us: number;
}

export interface Loop<Kind extends string> {
  measure(kind: Kind, urls: readonly string[]): Promise<Measured>;
  stop(): Promise<void>;
}

/** Starts `script`, which calls `serveLoop`; it ends with `stop`, or with its parent. */
export function startLoop<Kind extends string>(script: string, options: unknown): Loop<Kind> {
  const child = fork(script, ['loop', JSON.stringify(options)], { serialization: 'advanced' });
  return {
    measure: (kind, urls) =>
      new Promise((resolve, reject) => {
        child.once('exit', (code) => reject(new Error(`${script} ended with ${code}`)));
        child.once('message', (measured) => {
          child.removeAllListeners('exit');
          resolve(measured as Measured);
        });
        child.send({ kind, urls });
      }),
    async stop() {
      child.removeAllListeners('exit');
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.disconnect();
      await ended;
    },
  };
}

/** Runs in the contestant's process: calls `run` with the argument of `measure`. */
export function serveLoop<Kind extends string, Options>(
  run: (kind: Kind, urls: readonly string[], options: Options) => Promise<void>,
): void {
  const options = JSON.parse(process.argv[3]!) as Options;
  process.on('message', async ({ kind, urls }: { kind: Kind; urls: string[] }) => {
    const cpu = process.cpuUsage();
    const began = performance.now();
    await run(kind, urls, options);
    const ms = performance.now() - began;
    const { user, system } = process.cpuUsage(cpu);
    process.send!({ ms, cpu_us: (user + system) / urls.length } satisfies Measured);
  });
  process.on('disconnect', () => process.exit(0));
}
