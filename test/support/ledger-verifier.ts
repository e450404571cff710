// The verifier of notes and proofs in Go, by golang.org/x/mod: an implementation that is not ours.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../audit/verifier', import.meta.url));

export type Question =
  | { kind: 'note'; note: string; verifier: string; text: string }
  | { kind: 'inclusion'; leaf: string; index: number; size: number; root: string; proof: readonly string[] }
  | {
      kind: 'consistency';
      first: number;
      second: number;
      first_root: string;
      second_root: string;
      proof: readonly string[];
    };

/** Returns the answer to each question: `ok`, or what is wrong. */
export async function askVerifier(questions: readonly Question[]): Promise<string[]> {
  const go = spawn('go', ['run', '.'], { cwd: FOLDER, stdio: ['pipe', 'pipe', 'inherit'] });
  // Go's decoder of JSON takes names in any case, but no underscores.
  const lines = questions.map((question) => JSON.stringify(question).replaceAll('_root":', 'root":'));
  go.stdin.end(`${lines.join('\n')}\n`);
  return (await text(go.stdout)).split('\n').slice(0, -1);
}
