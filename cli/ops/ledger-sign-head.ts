// `ledger sign-head`: signs the text of a head on another machine than the service's. LEDGER_SIGN_COMMAND calls it there.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { openNoteSigner, parseCheckpoint } from '../../audit/signed-note.ts';
import { type Command, EXIT, UsageError } from './command.ts';

const MIN_SECRET_BYTES = 32;

export const ledgerSignHead: Command = {
  summary: 'sign the text of a head, from standard input, with a key that the service does not have',
  options: {
    'secret-file': { type: 'string', value: 'FILE', means: `a file of at least ${MIN_SECRET_BYTES} random bytes` },
    name: { type: 'string', value: 'NAME', means: 'the name of the key (outside)' },
    'show-key': { type: 'boolean', means: 'print the public key, for LEDGER_SIGN_KEY and `--key`, and sign nothing' },
  },
  async run({ values, folder, in: input, out }) {
    const { 'secret-file': file, name = 'outside' } = values;
    if (typeof file !== 'string') throw new UsageError('ledger sign-head: --secret-file is missing');
    if (typeof name !== 'string' || /[\s+]/.test(name)) throw new UsageError(`--name ${name}: without spaces and +`);
    const secret = await readFile(resolve(folder, file));
    if (secret.length < MIN_SECRET_BYTES)
      throw new UsageError(`${file} has ${secret.length} bytes: it must have ${MIN_SECRET_BYTES}`);
    const signer = openNoteSigner(name, secret);
    if (values['show-key']) {
      out.write(`${signer.verifier}\n`);
      return EXIT.clean;
    }
    const head = await text(input);
    if (parseCheckpoint(head) === null || !head.endsWith('\n') || head.includes('\n\n'))
      throw new UsageError('standard input is not the text of a head');
    out.write(signer.sign(head).slice(head.length + 1));
    return EXIT.clean;
  },
};
