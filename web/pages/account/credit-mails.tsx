// Which mails about credits the user gets.
import { useState } from 'preact/hooks';
import { type AnswerOf, ask, useAnswer } from '../../api/ask.ts';
import { say, sayFailure, useAction } from '../../ui/actions.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Check, Form, TextField } from '../../ui/form.tsx';

export function CreditMails() {
  const mails = useAnswer('GET /users/me/credit-mails', {});
  return mails.value ? <Choice of={mails.value} /> : <Failure of={mails} />;
}

function Choice({ of }: { of: AnswerOf<'GET /users/me/credit-mails'> }) {
  const [below, setBelow] = useState(of.low_balance ? String(of.low_balance) : '');
  const [low, setLow] = useState(of.low_balance !== 0);
  const [expiring, setExpiring] = useState(of.expiring_credits);
  const save = useAction(async () => {
    try {
      const low_balance = !low ? 0 : below === '' ? null : Number(below);
      await ask('PUT /users/me/credit-mails', { low_balance, expiring_credits: expiring });
      say('Saved.');
    } catch (error) {
      sayFailure(error);
    }
  });
  return (
    <section class="card" aria-label="Mails about your credits">
      <h2>Mails about your credits</h2>
      <Form class="filters" onSubmit={() => void save.run()}>
        <Check label="Write to me when my balance is low" is_on={low} set={setLow} />
        {low && (
          <TextField
            label="Low is below so many credits"
            hint="Leave it empty for a tenth of the last credits that you got."
            type="number"
            min={1}
            value={below}
            onInput={setBelow}
          />
        )}
        <Check
          label={`Write to me ${of.expiring_days} days before credits expire`}
          is_on={expiring}
          set={setExpiring}
        />
        <button type="submit" disabled={save.is_running}>
          Save
        </button>
      </Form>
    </section>
  );
}
