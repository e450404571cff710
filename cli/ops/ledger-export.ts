// `ledger export` writes the ledger and all that proves it to a file; `ledger verify-export` audits such a file without the service.
import { resolve } from 'node:path';
import { exportLines, sourceOfFile } from '../../audit/export-file.ts';
import { sourceOfLog } from '../../audit/source.ts';
import { logId } from '../../commands/log-identity.ts';
import { closing } from '../closing.ts';
import { exitAtInterrupts } from '../interrupts.ts';
import { type Command, count, EXIT } from './command.ts';
import { AS_OF, asOf, GRACE, graceOf, HEADS, headsOf } from './ledger-options.ts';
import { verify } from './ledger-verify.ts';
import { openWrittenLog } from './open-log.ts';
import { openOutput } from './output-file.ts';

export const ledgerExport: Command = {
  summary: 'write the ledger, and the jobs, results and payments that prove it, to a file',
  options: {
    out: { type: 'string', value: 'FILE', means: 'the file; without it, standard output' },
    'as-of': AS_OF,
  },
  async run(run) {
    const as_of = asOf(run);
    exitAtInterrupts();
    const { log } = await openWrittenLog(run);
    await using source = closing(sourceOfLog(log));
    await using output = await openOutput(run, run.values.out as string | undefined);
    const lines = exportLines(source, as_of, { log_id: await logId(log), exported_at: new Date().toISOString() });
    let next = await lines.next();
    for (; !next.done; next = await lines.next()) await output.write(next.value);
    await output.finish();
    const { entries, events, position, root_hash } = next.value;
    run.err.write(
      run.json
        ? `${JSON.stringify({ entries, events, position, root_hash })}\n`
        : `${count(entries, 'entry', 'entries')} and ${count(events - entries, 'other event')} up to position ${position || '(the beginning)'}\n`,
    );
    return EXIT.clean;
  },
};

export const ledgerVerifyExport: Command = {
  arguments: 'FILE',
  summary: 'audit an exported file by every rule that `ledger verify` knows, and say what of it is proved',
  options: { 'as-of': AS_OF, ...HEADS, grace: GRACE },
  async run(run) {
    const wanted = { of_file: true, as_of: asOf(run), grace_ms: graceOf(run), heads: await headsOf(run) };
    const path = resolve(run.folder, run.arguments[0]!);
    return verify(run, (found) => sourceOfFile(path, found), wanted);
  },
};
