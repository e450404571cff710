// `ledger prove-last` and `ledger verify-last`: that an entry was the last one at a time, which needs neither the service nor its stores to verify.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type LastEntryProof, parseLastEntryProof, problemsOf, proveLastEntry } from '../../audit/last-entry.ts';
import type { SignedHead } from '../../audit/source.ts';
import { closing } from '../closing.ts';
import { type Command, EXIT, printable, UsageError } from './command.ts';
import { asOf, FILE, HEADS, headsOf, openSource } from './ledger-options.ts';
import { openOutput } from './output-file.ts';

export const ledgerProveLast: Command = {
  summary: 'print the proof that an entry was the last one at a time, under a signed head',
  options: {
    'as-of': {
      type: 'string',
      value: 'WHEN',
      means: 'the time, such as 2026-01-31T12:00:00Z, or the end of a day (UTC) such as 2026-01-31',
    },
    user: { type: 'string', value: 'ID', means: 'the last entry of this user; without it, of the whole ledger' },
    head: {
      ...HEADS.head!,
      means: 'prove it under one of these heads, which the log has; without it, under the first that reaches so far',
    },
    out: { type: 'string', value: 'FILE', means: 'the file; without it, standard output' },
    file: FILE,
  },
  async run(run) {
    const as_of = asOf(run);
    if (as_of === null || !('time' in as_of)) throw new UsageError('ledger prove-last: --as-of needs a time or a day');
    const { user = null, out } = run.values as { user?: string; out?: string };
    await using source = closing(await openSource(run));
    const { kept } = await headsOf(run);
    const proof = await proveLastEntry(source, { time: as_of.time, user_id: user, kept: notesOf(kept) });
    await using output = await openOutput(run, out);
    await output.write(`${JSON.stringify(proof, null, 2)}\n`);
    await output.finish();
    return EXIT.clean;
  },
};

export const ledgerVerifyLast: Command = {
  arguments: 'FILE',
  summary: 'verify a proof that `ledger prove-last` printed, without the log',
  options: HEADS,
  async run(run) {
    const { kept, keys } = await headsOf(run);
    const [name] = run.arguments as [string];
    const proof = proofIn(await readFile(resolve(run.folder, name), 'utf8'), name);
    const notes = notesOf(kept);
    const problems = problemsOf(proof, keys, notes);
    if (run.json) run.out.write(`${JSON.stringify({ is_proved: problems.length === 0, problems })}\n`);
    else if (problems.length > 0) run.out.write(problems.map((each) => printable(`not proved: ${each}`)).join(''));
    else run.out.write(printable(wordsOf(proof, keys === null && notes === null)));
    return problems.length > 0 ? EXIT.violation : EXIT.clean;
  },
};

const notesOf = (heads: readonly SignedHead[]) => (heads.length > 0 ? heads.map(({ note }) => note) : null);

function proofIn(text: string, name: string): LastEntryProof {
  try {
    return parseLastEntryProof(text);
  } catch {
    throw new UsageError(`${name} is no proof of a last entry`);
  }
}

function wordsOf({ user_id, as_of, last, next, head }: LastEntryProof, is_by_itself: boolean): string {
  const { stream, revision, data, metadata } = last.entry;
  const { transaction_id, balance_after } = data as { transaction_id: string; balance_after: number };
  const whose = user_id === null ? 'the ledger' : user_id;
  const after = next === null ? 'the head, signed later, ends with it' : `the next one is of ${next.entry.metadata.at}`;
  const scope = is_by_itself ? '; give --key or --head: the proof itself names the key that signed it' : '';
  return (
    `ok: at ${as_of}, the last entry of ${whose} was ${transaction_id} of ${metadata.at} (${stream} ${revision}), with a balance of ` +
    `${balance_after}; ${after}; under the head of ${head.split('\n')[1]} entries${scope}`
  );
}
