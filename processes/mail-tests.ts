// Sends the test mails that administrators ask for. Every process with the role does, whether it works or stands by: a mail server that one of
// them cannot use is what an administrator looks for.
import type { MailTestOutcome, MailTests } from '../readmodels/operations/mail-tests.ts';
import { pause } from '../time/pause.ts';

const LOOK_MS = 1_000;

/** Runs until `signal` aborts. `send` never throws. While the store of documents is away, nothing is taken. */
export async function answerMailTests(
  tests: Pick<MailTests, 'take' | 'answer'>,
  send: (to: string) => Promise<MailTestOutcome>,
  signal: AbortSignal,
  look_ms = LOOK_MS,
): Promise<void> {
  for (; !signal.aborted; await pause(look_ms, signal)) {
    try {
      for (let next = await tests.take(); next !== null && !signal.aborted; next = await tests.take())
        await tests.answer(next.id, await send(next.to));
    } catch {
      // Whoever asked is told that nobody answered; readiness names the store.
    }
  }
}
