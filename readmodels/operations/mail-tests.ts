// Test mails that administrators ask for: http keeps the request here, and a process that sends mails takes it and says what came of it.
import { randomUUID } from 'node:crypto';
import type { CollectionSpec, Document, Documents } from '../documents.ts';

/** What came of a test mail, in a sentence for operators. */
export interface MailTestOutcome {
  sent: boolean;
  says: string;
}

interface MailTestDocument extends Document {
  to: string;
  status: 'asked' | 'taken' | 'answered';
  asked_at: string;
  outcome: MailTestOutcome | null;
}
const mailTests: CollectionSpec<MailTestDocument> = {
  name: 'mail_tests',
  fields: { status: 'string', asked_at: 'string' },
  indexes: [],
  is_small: true,
};

/** What was asked so long ago has nobody who waits: its process ended. */
const FORGOTTEN_MS = 3_600_000;

export type MailTests = ReturnType<typeof openMailTests>;

/** No projection makes these documents: they are lost with the store, and harm nobody then. `now`: Unix milliseconds. */
export function openMailTests(documents: Documents, now: () => number) {
  const reading = documents.reading(mailTests);
  const writing = () => documents.collection(mailTests);
  return {
    /** Asks for a mail to the address, and returns the id of the request. */
    async ask(to: string): Promise<string> {
      const _id = randomUUID();
      const asked_at = new Date(now()).toISOString();
      await (await writing()).write([{ insert: { _id, to, status: 'asked', asked_at, outcome: null } }]);
      return _id;
    },
    /** `is_taken`: a process is sending it. `outcome` is null before the end. */
    async read(id: string): Promise<{ is_taken: boolean; outcome: MailTestOutcome | null }> {
      const found = await reading.get(id);
      return { is_taken: found !== null && found.status !== 'asked', outcome: found?.outcome ?? null };
    },
    remove: async (id: string) => (await writing()).write([{ delete: id }]),
    /** Takes a request that no process has taken; null when there is none. */
    async take(): Promise<{ id: string; to: string } | null> {
      const [seen] = await reading.find({}, { sort: { asked_at: 1 }, limit: 1 });
      if (seen === undefined) return null;
      return documents.transaction(async (inside) => {
        const tests = await inside.collection(mailTests);
        const forgotten = new Date(now() - FORGOTTEN_MS).toISOString();
        await tests.write([{ deleteMany: { asked_at: { $lt: forgotten } } }]);
        const [next] = await tests.find({ status: 'asked' }, { sort: { asked_at: 1 }, limit: 1 });
        if (next === undefined) return null;
        await tests.write([{ update: next._id, set: { $set: { status: 'taken' } } }]);
        return { id: next._id, to: next.to };
      });
    },
    answer: async (id: string, outcome: MailTestOutcome) =>
      (await writing()).write([{ update: id, set: { $set: { status: 'answered', outcome } } }]),
  };
}
