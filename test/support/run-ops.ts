// Runs a command of `npm run ops` in this thread, with no settings but those that are given. A process of its own takes a third of a
// second of processor time for its start alone: run-program.ts has that one, for what only a process shows.
import { Readable, Writable } from 'node:stream';
import { EXIT } from '../../cli/ops/command.ts';
import { failureOf, runOps } from '../../cli/ops/run-ops.ts';
import type { Ended } from './run-program.ts';

/** @example await opsHere(['ledger', 'verify'], { DATA_DIR: folder }) */
export async function opsHere(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  input = '',
): Promise<Ended> {
  const [out, err] = [collector(), collector()];
  const code = await runOps(words, { env, folder: process.cwd(), in: Readable.from([input]), out, err }).catch(
    (error: unknown) => {
      err.write(failureOf(error));
      return EXIT.unknown;
    },
  );
  return { code, stdout: out.text(), stderr: err.text() };
}

function collector(): Writable & { text(): string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      chunks.push(chunk);
      done();
    },
  });
  return Object.assign(stream, { text: () => Buffer.concat(chunks).toString() });
}
