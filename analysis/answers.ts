// The tables that answer most questions: checked URLs, jobs, entries of the ledger and deliveries of webhooks. Each is a query over the
// tables of event types. Decision 183 says why.
import { TEST_USER_PREFIX } from '../events/test-user.ts';
import { type EventType, VOCABULARY } from '../events/vocabulary.ts';
import { LISTING, OUTCOMES } from './checked-rows.ts';
import { quoted, type SqlColumn, shapeOf } from './views.ts';

export interface AnswerColumn extends SqlColumn {
  /** In SQL, over what `from` gives. */
  value: string;
  means: string;
}

export interface AnswerTable {
  name: string;
  means: string;
  /** The types whose tables it reads. */
  types: readonly EventType[];
  /** The types of rows that it reads that are no events. */
  rows: readonly string[];
  columns: readonly AnswerColumn[];
  from(table: TableName): string;
}

/** How the statement names the table of an event type, or the one with the columns of `events` that has outcomes and listings. */
export type TableName = (type: EventType | 'events') => string;

const INSTANT = 'TIMESTAMP WITH TIME ZONE';
const column = (name: string, type: string, value: string, means: string): AnswerColumn => ({
  ...{ name, type, value, means },
});

const OUTCOME = {
  ...{ status_code: 'BIGINT', final_url: 'VARCHAR', is_broken: 'BOOLEAN', is_soft_404: 'BOOLEAN' },
  ...{ redirect_chain: 'VARCHAR[]', content_type: 'VARCHAR', error_code: 'VARCHAR', verdict: 'VARCHAR' },
  ...{ protection: 'VARCHAR', attempts: 'BIGINT', tried_ms: 'BIGINT', tls_detail: 'VARCHAR', by_circuit: 'BOOLEAN' },
  ...{ proxy_id: 'VARCHAR', temporary: 'BOOLEAN', redirect_kind: 'VARCHAR' },
};
const structOf = (fields: Readonly<Record<string, string>>) =>
  `STRUCT(${Object.entries(fields)
    .map(([name, type]) => `${name} ${type}`)
    .join(', ')})`;
const outcome = (name: keyof typeof OUTCOME, means: string) =>
  column(name, OUTCOME[name], `checked.outcome.${name}`, means);

const ENDS = ['JobCompleted', 'JobCancelled', 'JobFailed'] as const;
const ended = (table: TableName) =>
  ENDS.map(
    (type) =>
      `SELECT stream, position, recorded_at, '${type.slice('Job'.length).toLowerCase()}' AS status FROM ${table(type)}`,
  ).join(' UNION ALL ');

const URLS: AnswerTable = {
  name: 'urls',
  means:
    'A row for each URL that was checked before the end of its job, as results show it. A deleted job has none, nor one whose results have expired.',
  types: ['JobCreated', ...ENDS],
  rows: [OUTCOMES, LISTING],
  columns: [
    column('job_id', 'VARCHAR', 'checked.job_id', 'The job.'),
    column('user_id', 'VARCHAR', 'job.owner_id', 'Whose job it is.'),
    column('index', 'BIGINT', 'checked.index', 'The place of the URL in the job, from 0.'),
    column('row', 'BIGINT', 'listed.row', 'The row of the file that it came from, from 1; null in the oldest jobs.'),
    column('url', 'VARCHAR', 'listed.url', 'As it was submitted.'),
    column('host', 'VARCHAR', 'listed.host', 'In lower case, without the port; international names as punycode.'),
    outcome('verdict', 'What the check says of it.'),
    column(
      'finding',
      'VARCHAR',
      'coalesce(checked.outcome.error_code, checked.outcome.protection, checked.outcome.redirect_kind)',
      'Why: the error, else the bot protection, else the kind of its redirects; null for none of them.',
    ),
    outcome('status_code', 'Of the last answer; null where none came.'),
    column(
      'final_url',
      'VARCHAR',
      "CASE WHEN checked.outcome.final_url = '' THEN listed.url ELSE checked.outcome.final_url END",
      'The URL of the last answer, after redirects; null where none came.',
    ),
    outcome('error_code', 'Why no answer came that counts.'),
    outcome('is_broken', 'True for 4xx, 5xx and no answer.'),
    outcome('is_soft_404', 'True for a 2xx page that says that the page does not exist.'),
    outcome('temporary', 'True for a failure that may pass.'),
    outcome('redirect_chain', 'The targets of its redirects, in order.'),
    outcome('redirect_kind', '`permanent`, `temporary` or `mixed`; null without redirects.'),
    column('response_time_ms', 'BIGINT', 'checked.response_time_ms', "From the last attempt's start to its headers."),
    outcome('tried_ms', 'From the first attempt to the end of the last; null for one attempt.'),
    outcome('attempts', 'How many attempts were made.'),
    outcome('content_type', 'Of the last answer.'),
    outcome('protection', 'The bot protection whose marks the answer bears.'),
    outcome('tls_detail', 'What is wrong with the certificate.'),
    outcome('by_circuit', 'True where other URLs of the host decided it.'),
    outcome('proxy_id', 'The proxy that it was checked through.'),
    column(
      'checker',
      'VARCHAR',
      "nullif(regexp_replace(checked.actor, '^checker:?', ''), '')",
      'The checker that found it.',
    ),
    column('checked_at', INSTANT, 'checked.recorded_at', 'When the result was recorded.'),
    column('position', 'VARCHAR', 'checked.position', 'Of the event in the log.'),
  ],
  from: (table) => `(
      SELECT position, recorded_at, actor, job_id, index, response_time_ms, outcomes[place] AS outcome FROM (
        SELECT *, unnest(indexes) AS index, unnest(response_times_ms) AS response_time_ms, unnest(which) AS place FROM (
          SELECT position, recorded_at, actor, unnest(json_transform(data, ${shapeOf({
            ...{ job_id: 'VARCHAR', indexes: 'BIGINT[]', response_times_ms: 'BIGINT[]', which: 'BIGINT[]' },
            outcomes: `${structOf(OUTCOME)}[]`,
          })})) FROM ${table('events')} WHERE type = '${OUTCOMES}'))) AS checked
    LEFT JOIN (
      SELECT job_id, from_index + unnest(range(len(urls))) AS index, unnest(urls) AS url, unnest(hosts) AS host, unnest(rows) AS row FROM (
        SELECT unnest(json_transform(data, ${shapeOf({
          ...{ job_id: 'VARCHAR', from_index: 'BIGINT', urls: 'VARCHAR[]', hosts: 'VARCHAR[]', rows: 'BIGINT[]' },
        })})) FROM ${table('events')} WHERE type = '${LISTING}')) AS listed
      ON listed.job_id = checked.job_id AND listed.index = checked.index
    LEFT JOIN (SELECT job_id, owner_id FROM ${table('JobCreated')}) AS job ON job.job_id = checked.job_id
    LEFT JOIN (SELECT stream, min(position) AS position FROM (${ended(table)}) GROUP BY stream) AS ended
      ON ended.stream = 'job-' || checked.job_id
    WHERE ended.position IS NULL OR checked.position < ended.position`,
};

const JOBS: AnswerTable = {
  name: 'jobs',
  means: 'A row for each job, also after it was deleted.',
  types: [
    ...(['JobCreated', 'JobPaused', 'JobResumed', ...ENDS, 'JobDeleted', 'ResultsExpired'] as const),
    ...(['CreditsRefunded', 'URLChecked'] as const),
  ],
  rows: [],
  columns: [
    column('job_id', 'VARCHAR', 'created.job_id', 'The job.'),
    column('user_id', 'VARCHAR', 'created.owner_id', 'Whose job it is.'),
    column('source', 'VARCHAR', 'created.source', '`upload`, `api` or `rerun`.'),
    column(
      'status',
      'VARCHAR',
      "coalesce(ended.status, CASE WHEN paused.position > coalesce(resumed.position, '') THEN 'paused' ELSE 'processing' END)",
      '`processing`, `paused`, `completed`, `cancelled` or `failed`.',
    ),
    column('total_urls', 'BIGINT', 'created.total_urls', 'The URLs of the job.'),
    column(
      'completed_urls',
      'BIGINT',
      `coalesce(completed.completed_urls, expired.completed_urls, checked.urls,
        CASE WHEN ended.status IS NULL THEN 0 ELSE coalesce(resumed.credits_allocated, created.credits_allocated) - coalesce(refunded.credits, 0) END)`,
      'Those that were checked before its end.',
    ),
    column(
      'broken_urls',
      'BIGINT',
      'coalesce(completed.broken_urls, expired.summary.broken_urls)',
      'The broken ones among them; null until the job is completed.',
    ),
    column(
      'credits_allocated',
      'BIGINT',
      `CASE WHEN starts_with(created.owner_id, '${TEST_USER_PREFIX}') THEN 0 ELSE coalesce(resumed.credits_allocated, created.credits_allocated) END`,
      'The credits that were reserved for it; 0 of a job of a test key.',
    ),
    column('credits_refunded', 'BIGINT', 'coalesce(refunded.credits, 0)', 'Those that were given back at its end.'),
    column('duplicates_removed', 'BIGINT', 'created.duplicates_removed', 'URLs that were in the list before.'),
    column('invalid_urls_rejected', 'BIGINT', 'created.invalid_urls_rejected', 'Texts that were no URLs.'),
    column('blocked_urls_skipped', 'BIGINT', 'created.blocked_urls_skipped', 'URLs of blocklisted domains.'),
    column('pauses', 'BIGINT', 'coalesce(paused.times, 0)', 'How many times it was paused.'),
    column('pause_reason', 'VARCHAR', 'paused.reason', 'Of the last pause.'),
    column('failure_reason', 'VARCHAR', 'failed.reason', 'Why it failed.'),
    column('rerun_of', 'VARCHAR', 'created.rerun_of', 'The failed job that it ran again.'),
    column('created_at', INSTANT, 'created.recorded_at', 'When it was submitted.'),
    column('ended_at', INSTANT, 'ended.recorded_at', 'When it was completed, cancelled or failed.'),
    column('expired_at', INSTANT, 'expired.recorded_at', 'When its results were removed.'),
    column('deleted_at', INSTANT, 'deleted.recorded_at', 'When its owner deleted it.'),
  ],
  from: (table) => `${table('JobCreated')} AS created
    LEFT JOIN (SELECT stream, unnest(min_by({status: status, recorded_at: recorded_at, position: position}, position)) FROM (${ended(table)}) GROUP BY stream) AS ended
      ON ended.stream = created.stream
    LEFT JOIN (SELECT stream, count(*) AS times, max(position) AS position, max_by(reason, position) AS reason
      FROM ${table('JobPaused')} GROUP BY stream) AS paused ON paused.stream = created.stream
    LEFT JOIN (SELECT stream, max(position) AS position, max_by(credits_allocated, position) AS credits_allocated
      FROM ${table('JobResumed')} GROUP BY stream) AS resumed ON resumed.stream = created.stream
    LEFT JOIN ${table('JobCompleted')} AS completed ON completed.stream = created.stream
    LEFT JOIN ${table('JobFailed')} AS failed ON failed.stream = created.stream
    LEFT JOIN ${table('JobDeleted')} AS deleted ON deleted.stream = created.stream
    LEFT JOIN ${table('ResultsExpired')} AS expired ON expired.stream = created.stream
    LEFT JOIN (SELECT reference_id, sum(amount) AS credits FROM ${table('CreditsRefunded')}
      WHERE transaction_type = 'refund' GROUP BY reference_id) AS refunded ON refunded.reference_id = created.job_id
    LEFT JOIN (SELECT each.job_id, sum(len(response_times_ms)) AS urls FROM ${table('URLChecked')} AS each
      LEFT JOIN (SELECT stream, min(position) AS position FROM (${ended(table)}) GROUP BY stream) AS until
        ON until.stream = 'job-' || each.job_id
      WHERE until.position IS NULL OR each.position < until.position GROUP BY each.job_id) AS checked
      ON checked.job_id = created.job_id`,
};

const LEDGER = Object.keys(VOCABULARY.credits) as (keyof typeof VOCABULARY.credits)[];
const ENTRY_COLUMNS =
  'position, recorded_at, stream, revision, actor, transaction_id, transaction_type, amount, reference_id, balance_after';

const ENTRIES: AnswerTable = {
  name: 'entries',
  means: 'A row for each entry of the ledger, with the money of the payment that it is about.',
  types: [...LEDGER, 'PaymentReceived', 'PaymentReversed', 'PaymentReversalLifted'],
  rows: [],
  columns: [
    column('user_id', 'VARCHAR', "substr(entry.stream, len('credits-') + 1)", 'Whose ledger it is in.'),
    column('revision', 'BIGINT', 'entry.revision', 'The place in that ledger, from 0.'),
    column('recorded_at', INSTANT, 'entry.recorded_at', 'When it was made.'),
    column('type', 'VARCHAR', 'entry.type', 'The type of the event.'),
    column('transaction_type', 'VARCHAR', 'entry.transaction_type', 'Such as `purchase`, `reservation` or `refund`.'),
    column('transaction_id', 'VARCHAR', 'entry.transaction_id', 'The id of the transaction.'),
    column('credits', 'BIGINT', 'entry.amount', 'Positive in, negative out.'),
    column('balance_after', 'BIGINT', 'entry.balance_after', 'The balance after it.'),
    column('reference_id', 'VARCHAR', 'entry.reference_id', 'What it is about.'),
    column(
      'job_id',
      'VARCHAR',
      "CASE WHEN transaction_type IN ('reservation', 'refund') THEN entry.reference_id WHEN transaction_type = 'release' THEN regexp_replace(entry.reference_id, ':[^:]*$', '') END",
      'The job that it is about.',
    ),
    column('payment_id', 'VARCHAR', 'payment.id', 'The payment that it is about.'),
    column(
      'money_cents',
      'BIGINT',
      "CASE WHEN entry.type = 'CreditsGranted' THEN payment.amount_cents END",
      'What was paid for these credits, in the smallest unit of the currency.',
    ),
    column(
      'returned_cents',
      'BIGINT',
      "CASE WHEN entry.type = 'CreditsGranted' THEN coalesce(returned.cents, 0) END",
      'What has gone back of that since.',
    ),
    column('currency', 'VARCHAR', 'payment.currency', 'ISO 4217, in lower case.'),
    column('plan', 'VARCHAR', 'payment.period.plan', 'The plan that was paid; null for a package.'),
    column('billing_interval', 'VARCHAR', 'payment.period."interval"', 'How often the plan is paid.'),
    column('package_id', 'VARCHAR', 'payment.package_id', 'The package that was paid.'),
    column('actor', 'VARCHAR', 'entry.actor', 'Who made the entry.'),
    column('position', 'VARCHAR', 'entry.position', 'Of the entry in the log.'),
  ],
  from: (table) => `(${LEDGER.map((type) => `SELECT ${ENTRY_COLUMNS}, '${type}' AS type FROM ${table(type)}`).join(
    ' UNION ALL ',
  )}) AS entry
    LEFT JOIN (SELECT substr(stream, len('payment-') + 1) AS id, * FROM ${table('PaymentReceived')}) AS payment
      ON payment.id = entry.reference_id AND entry.transaction_type IN ('purchase', 'subscription', 'reversal', 'restoration')
    LEFT JOIN (SELECT stream, sum(amount_cents) AS cents FROM ${table('PaymentReversed')} AS reversed
      WHERE NOT EXISTS (SELECT 1 FROM ${table('PaymentReversalLifted')} AS lifted
        WHERE lifted.stream = reversed.stream AND lifted.reversal_id = reversed.reversal_id AND lifted.position > reversed.position)
      GROUP BY stream) AS returned ON returned.stream = payment.stream`,
};

const DELIVERIES: AnswerTable = {
  name: 'deliveries',
  means: 'A row for each delivery of a webhook.',
  types: [
    ...(['WebhookDeliveryRequested', 'WebhookDeliveredAtOnce', 'WebhookAttempted'] as const),
    ...(['WebhookDelivered', 'WebhookDeliveryGivenUp'] as const),
  ],
  rows: [],
  columns: [
    column('delivery_id', 'VARCHAR', 'requested.delivery_id', 'The delivery.'),
    column('endpoint_id', 'VARCHAR', 'requested.endpoint_id', 'The endpoint that it goes to.'),
    column('user_id', 'VARCHAR', 'requested.user_id', 'Whose endpoint it is.'),
    column('type', 'VARCHAR', 'requested.type', 'Such as `job.completed`.'),
    column('job_id', 'VARCHAR', 'requested.job_id', 'The job that it tells of.'),
    column(
      'state',
      'VARCHAR',
      "CASE WHEN delivered.position IS NOT NULL THEN 'delivered' WHEN given_up.position IS NOT NULL THEN 'given_up' ELSE 'pending' END",
      '`pending`, `delivered` or `given_up`.',
    ),
    column('attempts', 'BIGINT', 'coalesce(attempted.times, 0)', 'How many attempts were made.'),
    column('status_code', 'BIGINT', 'attempted.last.status_code', 'Of the last answer; null where none came.'),
    column('error', 'VARCHAR', 'attempted.last.error', 'Why no answer came.'),
    column('duration_ms', 'BIGINT', 'attempted.last.duration_ms', 'How long the last attempt took.'),
    column('given_up_reason', 'VARCHAR', 'given_up.reason', 'Why no more attempts are made.'),
    column('requested_at', INSTANT, 'requested.recorded_at', 'When the event happened.'),
    column('attempted_at', INSTANT, 'attempted.last.recorded_at', 'When the last attempt ended.'),
    column('delivered_at', INSTANT, 'delivered.recorded_at', 'When the endpoint took it.'),
  ],
  from: (
    table,
  ) => `(SELECT stream, delivery_id, endpoint_id, user_id, event.type AS type, event.data.job_id AS job_id, recorded_at
      FROM ${table('WebhookDeliveryRequested')}
      UNION ALL SELECT stream, substr(stream, len('webhook_delivery-') + 1), endpoint_id, user_id, event.type, event.job_id, recorded_at
      FROM ${table('WebhookDeliveredAtOnce')}) AS requested
    LEFT JOIN (SELECT stream, count(*) AS times, max_by({status_code: status_code, error: error, duration_ms: duration_ms,
        recorded_at: recorded_at}, position) AS last FROM (
          SELECT stream, position, status_code, error, duration_ms, recorded_at FROM ${table('WebhookAttempted')}
          UNION ALL SELECT stream, position, status_code, NULL, duration_ms, recorded_at FROM ${table('WebhookDeliveredAtOnce')})
      GROUP BY stream) AS attempted ON attempted.stream = requested.stream
    LEFT JOIN (SELECT stream, max(position) AS position, max(recorded_at) AS recorded_at FROM (
        SELECT stream, position, recorded_at FROM ${table('WebhookDelivered')}
        UNION ALL SELECT stream, position, recorded_at FROM ${table('WebhookDeliveredAtOnce')})
      GROUP BY stream) AS delivered ON delivered.stream = requested.stream
    LEFT JOIN (SELECT stream, max(position) AS position, max_by(reason, position) AS reason FROM ${table('WebhookDeliveryGivenUp')} GROUP BY stream) AS given_up
      ON given_up.stream = requested.stream`,
};

export const ANSWER_TABLES: readonly AnswerTable[] = [URLS, JOBS, ENTRIES, DELIVERIES];

/** The query that makes the rows of one. */
export const rowsOfAnswer = ({ columns, from }: AnswerTable, table: TableName): string =>
  `SELECT ${columns.map(({ name, type, value }) => `(${value})::${type} AS ${quoted(name)}`).join(', ')}\n    FROM ${from(table)}`;
