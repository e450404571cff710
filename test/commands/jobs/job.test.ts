// Every state of a job against every command: what happens, or why it does not.
import test from 'ava';
import { decide, evolve, initial, type Job, type JobCommand, openJobs } from '../../../commands/jobs/job.ts';
import type { JobCreated, JobEvent } from '../../../events/job.ts';
import { jobStream } from '../../../events/streams.ts';
import { commandContext, openTestStores } from '../../support/stores.ts';

const created: JobCreated = {
  job_id: 'j',
  owner_id: 'alice',
  owner_email: null,
  source: 'upload',
  total_urls: 100,
  batch_size: 5,
  credits_allocated: 60,
  reservation_id: 'j:0',
  duplicates_removed: 0,
  invalid_urls_rejected: 0,
  blocked_urls_skipped: 0,
  filename: null,
  blob_key: null,
};
const WAS_CREATED: JobEvent = { type: 'JobCreated', data: created };

const HISTORIES: Record<string, JobEvent[]> = {
  none: [],
  processing: [WAS_CREATED],
  paused: [WAS_CREATED, { type: 'JobPaused', data: { reason: 'owner' } }],
  completed: [WAS_CREATED, { type: 'JobCompleted', data: { completed_urls: 60 } }],
  cancelled: [WAS_CREATED, { type: 'JobCancelled', data: {} }],
  failed: [WAS_CREATED, { type: 'JobFailed', data: { reason: 'no_progress' } }],
  deleted: [WAS_CREATED, { type: 'JobCancelled', data: {} }, { type: 'JobDeleted', data: {} }],
};

const COMMANDS: Record<string, JobCommand> = {
  pause: { type: 'pause' },
  pauseAtCeiling: { type: 'pauseAtCeiling', credits_allocated: 60 },
  resume: { type: 'resume', credits_added: 40, reservation_id: 'j:1' },
  cancel: { type: 'cancel' },
  complete: { type: 'complete', completed_urls: 100, broken_urls: 7 },
  fail: { type: 'fail', reason: 'no_progress' },
  delete: { type: 'delete' },
};

// Rows: states. What is not named is refused: as an unknown job before creation and after deletion, else as illegal.
const LEGAL: Record<string, Record<string, string>> = {
  none: {},
  processing: {
    pause: 'JobPaused',
    pauseAtCeiling: 'JobPaused',
    cancel: 'JobCancelled',
    complete: 'JobCompleted',
    fail: 'JobFailed',
  },
  paused: { resume: 'JobResumed', cancel: 'JobCancelled', complete: 'JobCompleted' },
  completed: { delete: 'JobDeleted' },
  cancelled: { delete: 'JobDeleted' },
  failed: { delete: 'JobDeleted' },
  deleted: {},
};

const after = (events: readonly JobEvent[]): Job => events.reduce(evolve, initial());

for (const [state, history] of Object.entries(HISTORIES)) {
  for (const [name, command] of Object.entries(COMMANDS)) {
    const expected = LEGAL[state]![name];
    test(`${name} of a job that is ${state} is ${expected ?? 'refused'}`, (t) => {
      const decision = decide(after(history), command);
      if (expected) {
        t.deepEqual('events' in decision && decision.events.map((event) => event.type), [expected]);
        return;
      }
      if (!('refused' in decision)) return t.fail('it is not refused');
      const gone = state === 'none' || state === 'deleted';
      t.is(decision.refused.code, gone ? 'job_not_found' : 'illegal_transition');
      if (!gone) t.true(decision.refused.message.includes(state), decision.refused.message);
    });
  }
}

test('a job with a credit begins to work, and one without pauses at once', (t) => {
  t.deepEqual(decide(initial(), { type: 'create', job: created }), { events: [WAS_CREATED] });
  const poor = { ...created, credits_allocated: 0 };
  t.deepEqual(decide(initial(), { type: 'create', job: poor }), {
    events: [
      { type: 'JobCreated', data: poor },
      {
        type: 'JobPaused',
        data: { reason: 'credit_ceiling', credits_allocated: 0, owner_id: 'alice', total_urls: 100 },
      },
    ],
  });
});

test('creating a job again with the same reservation changes nothing', (t) => {
  t.deepEqual(decide(after([WAS_CREATED]), { type: 'create', job: created }), { events: [] });
});

test('a voided reservation can no longer become a job', (t) => {
  const voided = after([{ type: 'ReservationVoided', data: { reservation_id: 'j:0' } }]);
  const decision = decide(voided, { type: 'create', job: created });
  t.is('refused' in decision && decision.refused.code, 'reservation_voided');
});

test('a used reservation can no longer be voided', (t) => {
  t.deepEqual(decide(after([WAS_CREATED]), { type: 'voidReservation', reservation_id: 'j:0' }), { events: [] });
});

test('a resumption raises the allocation by its reservation', (t) => {
  const decision = decide(after(HISTORIES.paused!), COMMANDS.resume!);
  t.deepEqual(decision, {
    events: [{ type: 'JobResumed', data: { credits_added: 40, credits_allocated: 100, reservation_id: 'j:1' } }],
  });
});

test('a job refuses a resumption with more credits than missing URLs: another one was first', (t) => {
  const decision = decide(after(HISTORIES.paused!), { type: 'resume', credits_added: 41, reservation_id: 'j:1' });
  t.is('refused' in decision && decision.refused.code, 'illegal_transition');
});

test('the ceiling pauses a job only at the allocation that the process manager saw', (t) => {
  t.deepEqual(decide(after([WAS_CREATED]), { type: 'pauseAtCeiling', credits_allocated: 50 }), { events: [] });
});

test('a completed job names its owner and its counts, which webhooks need', (t) => {
  t.deepEqual(decide(after([WAS_CREATED]), COMMANDS.complete!), {
    events: [
      { type: 'JobCompleted', data: { completed_urls: 100, broken_urls: 7, owner_id: 'alice', source: 'upload' } },
    ],
  });
});

test('a job that is completed on what a read model has of it keeps its source', async (t) => {
  const { log } = await openTestStores(t);
  const jobs = openJobs(log);
  const { job_id } = created;
  const made = await jobs.run(job_id, { type: 'create', job: { ...created, source: 'api' } }, commandContext());
  const known = { ...created, source: 'api', status: 'processing', revision: 0 } as const;
  // Another process: it has no state of the job.
  const elsewhere = openJobs(log);
  const done = await elsewhere.complete(job_id, { completed_urls: 10, broken_urls: 0 }, commandContext(), known);
  t.true(made.ok && done.ok);
  const [, completed] = await Array.fromAsync(log.readStream(jobStream(job_id)));
  t.like(completed, { type: 'JobCompleted', data: { source: 'api' } });
});

test('a paused, failed or cancelled job names its owner and its URLs, which webhooks need', (t) => {
  const subject = { owner_id: 'alice', total_urls: created.total_urls };
  const { credits_allocated } = created;
  const eventsOf = (command: JobCommand) => decide(after([WAS_CREATED]), command);
  t.deepEqual(eventsOf({ type: 'pause' }), {
    events: [{ type: 'JobPaused', data: { reason: 'owner', credits_allocated, ...subject } }],
  });
  t.deepEqual(eventsOf({ type: 'pauseAtCeiling', credits_allocated }), {
    events: [{ type: 'JobPaused', data: { reason: 'credit_ceiling', credits_allocated, ...subject } }],
  });
  t.deepEqual(eventsOf({ type: 'cancel' }), { events: [{ type: 'JobCancelled', data: subject }] });
  t.deepEqual(eventsOf({ type: 'fail', reason: 'no_progress' }), {
    events: [{ type: 'JobFailed', data: { reason: 'no_progress', ...subject } }],
  });
});

test('a deleted job is purged in order, each part once', (t) => {
  const purged = (from_index: number, to_index: number): JobEvent => ({
    type: 'ResultsPurged',
    data: { from_index, to_index },
  });
  const half = after([...HISTORIES.deleted!, purged(0, 30)]);
  t.deepEqual(decide(half, { type: 'purgeResults', from_index: 0, to_index: 30 }), { events: [] });
  t.deepEqual(decide(half, { type: 'purgeResults', from_index: 30, to_index: 60 }), { events: [purged(30, 60)] });
  t.throws(() => decide(half, { type: 'purgeResults', from_index: 60, to_index: 90 }));
  t.deepEqual(decide(half, { type: 'purge' }), { events: [{ type: 'JobPurged', data: {} }] });
  t.deepEqual(decide(after([...HISTORIES.deleted!, { type: 'JobPurged', data: {} }]), { type: 'purge' }), {
    events: [],
  });
});

test('a job is not purged before its deletion', (t) => {
  for (const history of [HISTORIES.processing!, HISTORIES.completed!]) {
    const decision = decide(after(history), { type: 'purgeResults', from_index: 0, to_index: 60 });
    t.is('refused' in decision && decision.refused.code, 'illegal_transition');
  }
});

test('a refusal says what is legal, in words and for programs', (t) => {
  const decision = decide(after(HISTORIES.paused!), { type: 'delete' });
  t.deepEqual(decision, {
    refused: {
      code: 'illegal_transition',
      message: 'A paused job cannot be deleted: cancel it first. Legal now: resume, cancel.',
      details: { status: 'paused', legal: ['resume', 'cancel'] },
    },
  });
});
