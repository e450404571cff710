// Puts a domain on the blocklist, or changes what its entry says.
import { useState } from 'preact/hooks';
import { type AnswerOf, ask } from '../../api/ask.ts';
import { say } from '../../ui/actions.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/form.tsx';

type Entry = AnswerOf<'GET /domains/blocked'>['items'][number];

interface BlockDialogProps {
  /** The entry to change. */
  entry?: Entry;
  /** Where there is no entry: the domain to begin with. */
  domain?: string;
  onClose(): void;
  onDone(): void;
}

export function BlockDialog({ entry, domain = '', onClose, onDone }: BlockDialogProps) {
  const [written, setWritten] = useState({
    domain: entry?.domain ?? domain,
    reason: entry?.reason ?? '',
    block_type: entry?.block_type ?? '',
    error_codes: entry?.error_codes.join(' ') ?? '',
  });
  async function save(): Promise<void> {
    await ask('POST /domains/blocked', {
      domain: written.domain,
      reason: written.reason.trim() || undefined,
      block_type: written.block_type.trim() || undefined,
      error_codes: written.error_codes.split(' ').filter(Boolean),
    });
    say(entry ? 'The entry is changed.' : 'The domain is on the blocklist.');
    onDone();
  }
  const text = (name: keyof typeof written, label: string, of: { hint: string; max: number; is_fixed?: boolean }) => (
    <TextField
      label={label}
      hint={of.hint}
      maxLength={of.max}
      readOnly={of.is_fixed}
      required={name === 'domain'}
      value={written[name]}
      onInput={(text) => setWritten({ ...written, [name]: text })}
    />
  );
  return (
    <Confirm
      title={entry ? 'Change the entry' : 'Block a domain'}
      action={entry ? 'Change it' : 'Block it'}
      onClose={onClose}
      onConfirm={save}
    >
      {text('domain', 'Domain', {
        ...{ hint: 'It blocks its subdomains too. Existing jobs continue.', max: 2048, is_fixed: entry !== undefined },
      })}
      {text('reason', 'Reason', { hint: 'Users whose URLs are left out read it.', max: 500 })}
      {text('block_type', 'Kind', { hint: 'A code for programs, such as legal.', max: 50 })}
      {text('error_codes', 'Errors', { hint: 'What checks of its URLs return, such as 403 999.', max: 1000 })}
    </Confirm>
  );
}
