// The engine against bare undici: 20,000 URLs over 1, 200 and 5,000 hosts on loopback addresses, in alternating rounds of
// one process. Prints URL/s (median of the rounds) and the engine's ratio to `request` and `dispatch`.
// node bench/engine.ts [--rounds 5] [--urls 20000] [--only engine] [--hosts 200]
import { parseArgs } from 'node:util';
import { createEngine } from '../checkers/engine/engine.ts';
import { byDispatch, byRequest } from './bare-loop.ts';
import { startLoopbackServer } from './loopback-server.ts';
import { median, urlsOver } from './loopback-urls.ts';

const CONCURRENCY = 256;
const PER_HOST = 64;
const BARE = { concurrency: CONCURRENCY, per_host: PER_HOST };

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    urls: { type: 'string', default: '20000' },
    hosts: { type: 'string', default: '1,200,5000' },
    only: { type: 'string', default: '' },
  },
});

function newEngine() {
  return createEngine({
    concurrency: CONCURRENCY,
    per_host: PER_HOST,
    timeout_ms: 15_000,
    retries: 0,
    allow_addresses: ['127.0.0.0/8'],
    user_agent: 'bench',
  });
}

/** Hands all URLs to the engine at once. */
async function byEngine(urls: readonly string[]): Promise<void> {
  const engine = newEngine();
  await Promise.all(
    urls.map(async (url) => {
      const outcome = await engine.check(url);
      if (outcome.verdict !== 'ok') throw new Error(JSON.stringify(outcome));
    }),
  );
  await engine.close();
}

/** Hands over as many URLs as `engine.free` allows, as the worker does. */
async function byEnginePaced(urls: readonly string[]): Promise<void> {
  const engine = newEngine();
  await new Promise<void>((resolve, reject) => {
    let i = 0;
    let done = 0;
    const pull = (): void => {
      for (let free = engine.free; free > 0 && i < urls.length; free--) {
        engine.check(urls[i++]!).then((outcome) => {
          if (outcome.verdict !== 'ok') reject(new Error(JSON.stringify(outcome)));
          if (++done === urls.length) resolve();
          pull();
        }, reject);
      }
    };
    pull();
  });
  await engine.close();
}

const CONTESTANTS: { readonly [name: string]: (urls: readonly string[]) => Promise<void> } = {
  request: (urls) => byRequest(urls, BARE),
  dispatch: (urls) => byDispatch(urls, BARE),
  engine: byEngine,
  'engine, paced': byEnginePaced,
};

const server = await startLoopbackServer();
try {
  const names = Object.keys(CONTESTANTS).filter((name) => values.only === '' || name === values.only);
  for (const hosts of values.hosts.split(',').map(Number)) {
    const urls = urlsOver(hosts, Number(values.urls), server.port);
    const rates: { [name: string]: number[] } = {};
    const cpu: { [name: string]: number[] } = {};
    const connections: { [name: string]: number } = {};
    for (let round = 0; round < Number(values.rounds); round++) {
      // Each round begins with another contestant, so that none always follows the same one.
      for (let k = 0; k < names.length; k++) {
        const name = names[(k + round) % names.length]!;
        await server.counts();
        const cpu_before = process.cpuUsage();
        const began = performance.now();
        await CONTESTANTS[name]!(urls);
        const rate = urls.length / ((performance.now() - began) / 1000);
        (rates[name] ??= []).push(rate);
        const { user, system } = process.cpuUsage(cpu_before);
        (cpu[name] ??= []).push((user + system) / urls.length);
        connections[name] = (await server.counts()).connections;
      }
    }
    const rate = (name: string): number => median(rates[name] ?? [Number.NaN]);
    console.log(`\n${urls.length} URLs over ${hosts} hosts`);
    for (const name of names) {
      const all = rates[name]!.map((each) => Math.round(each / 100) / 10).join(' ');
      console.log(
        `  ${name.padEnd(14)} ${(rate(name) / 1000).toFixed(1).padStart(6)} k/s  ${median(cpu[name]!).toFixed(0).padStart(4)} µs of CPU a URL  ${String(connections[name]).padStart(6)} connections  (${all})`,
      );
    }
    for (const name of ['engine', 'engine, paced']) {
      if (rates[name] === undefined || rates.request === undefined) continue;
      const against = (other: string): string => {
        const best = Math.max(...rates[name]!) / Math.max(...rates[other]!);
        return `/ ${other} = ${(rate(name) / rate(other)).toFixed(2)} (best rounds ${best.toFixed(2)})`;
      };
      console.log(`  ${name} ${against('request')}, ${against('dispatch')}`);
    }
  }
} finally {
  await server.stop();
}
