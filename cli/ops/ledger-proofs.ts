// `ledger heads`, `ledger prove-inclusion` and `ledger prove-consistency`: what `GET /audit/…` answers, from the log or a file alone.
import { proveConsistency, proveInclusion, sizeOf } from '../../audit/proofs.ts';
import { entryOf, type LedgerSource } from '../../audit/source.ts';
import { hashedEntry } from '../../events/credits.ts';
import { creditsStream } from '../../events/streams.ts';
import { closing } from '../closing.ts';
import { type Command, EXIT, type Run, UsageError } from './command.ts';
import { AS_OF, asOf, FILE, openSource } from './ledger-options.ts';

const SIZE = { type: 'string', value: 'N' } as const;

export const ledgerHeads: Command = {
  summary: 'print the signed heads: keep one, and it proves later that nothing before it was changed',
  options: { 'as-of': AS_OF, file: FILE, last: { type: 'boolean', means: 'only the last one, as the note to keep' } },
  async run(run) {
    const as_of = asOf(run);
    await using source = closing(await openSource(run));
    let last: string | null = null;
    for await (const { tree_size, root_hash, note, verifier, place } of source.heads(as_of)) {
      last = note;
      if (run.values.last) continue;
      const { position } = place;
      if (run.json) run.out.write(`${JSON.stringify({ position, tree_size, root_hash, verifier, note })}\n`);
      else run.out.write(`${position}  ${String(tree_size).padStart(12)}  ${root_hash}  ${verifier}\n`);
    }
    if (run.values.last && last !== null) run.out.write(last);
    if (last === null) run.err.write('the log has no signed head yet\n');
    return last === null ? EXIT.unknown : EXIT.clean;
  },
};

export const ledgerProveConsistency: Command = {
  summary: 'print the proof that the ledger of one size begins with that of another (RFC 9162)',
  options: {
    first: { ...SIZE, means: 'the entries of the earlier tree' },
    second: { ...SIZE, means: 'the entries of the later tree; without it, all' },
    file: FILE,
  },
  run: (run) =>
    prove(run, async (source) => {
      const first = numberOf(run, 'first');
      if (first === null) throw new UsageError('ledger prove-consistency: --first is missing');
      const second = numberOf(run, 'second') ?? (await sizeOf(source));
      if (first > second) throw new UsageError(`the ledger has ${second} entries, and --first is ${first}`);
      return proveConsistency(source, first, second);
    }),
};

export const ledgerProveInclusion: Command = {
  summary: 'print the proof that a transaction of a user is in the ledger (RFC 9162)',
  options: {
    user: { type: 'string', value: 'ID', means: 'the user' },
    transaction: { type: 'string', value: 'ID', means: 'the transaction' },
    size: { ...SIZE, means: 'the entries of the tree, such as of a head; without it, all' },
    file: FILE,
  },
  run: (run) =>
    prove(run, async (source) => {
      const { user, transaction } = run.values;
      if (typeof user !== 'string' || typeof transaction !== 'string') {
        throw new UsageError('ledger prove-inclusion: --user or --transaction is missing');
      }
      const stream = creditsStream(user);
      let index = 0;
      let previous = '';
      for await (const event of source.events(['credits'], null)) {
        const { transaction_id, hash: entry_hash } = entryOf(event);
        if (event.stream === stream) {
          if (transaction_id === transaction) {
            const entry = hashedEntry(previous, event);
            const size = numberOf(run, 'size') ?? (await sizeOf(source));
            if (index >= size) throw new UsageError(`the transaction is entry ${index}, after the first ${size}`);
            return { ...(await proveInclusion(source, index, size)), entry_hash, entry };
          }
          previous = entry_hash;
        }
        index += 1;
      }
      throw new UsageError(`${user} has no transaction ${transaction}`);
    }),
};

async function prove(run: Run, proof: (source: LedgerSource) => Promise<object>) {
  await using source = closing(await openSource(run));
  run.out.write(`${JSON.stringify(await proof(source), null, run.json ? undefined : 2)}\n`);
  return EXIT.clean;
}

function numberOf({ values }: Run, option: string): number | null {
  const given = values[option];
  if (typeof given !== 'string') return null;
  const number = Number(given);
  if (!Number.isSafeInteger(number) || number < 0) throw new UsageError(`--${option} ${given}: it must be a number`);
  return number;
}
