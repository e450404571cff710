// Makes an event's data from its schema, with values that look like those of its fields.
import { hash } from 'node:crypto';
import { foldRange } from '../events/checked-range.ts';
import { foldRows } from '../events/listed-rows.ts';

export interface AnySchema {
  type?: string;
  properties?: Record<string, AnySchema>;
  patternProperties?: Record<string, AnySchema>;
  required?: readonly string[];
  items?: AnySchema;
  anyOf?: readonly AnySchema[];
  enum?: readonly unknown[];
  const?: unknown;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  description?: string;
}

const [USER, JOB] = ['alice', '0a9c1d52-7b5e-4a37-9a53-2f1c8e6d4b10'];
const URLS = ['https://www.example.com/', 'https://www.example.com/gone'];
const DAY = '2026-01-31';
const TIME = `${DAY}T09:00:00.000Z`;

const STREAM_IDS: Readonly<Record<string, string>> = {
  ...{ user: USER, credits: USER, api_keys: USER, subscription: USER, webhook_endpoints: USER },
  ...{ job: JOB, urls: JOB, checks: `${JOB}-0`, domain_checks: JOB, shares: JOB },
  ...{ blocklist: 'domains', intake: `${DAY}-0`, personal_keys: `user/${USER}`, service: 'log' },
};
export const streamOf = (category: string) => `${category}-${STREAM_IDS[category] ?? idOf(category)}`;

/** By the name of a field. Others get a value of their type. */
const VALUES: Readonly<Record<string, unknown>> = {
  ...{ user_id: USER, owner_id: USER, email: 'alice@example.com', owner_email: 'alice@example.com', job_id: JOB },
  url: URLS[0],
  urls: URLS,
  rows: foldRows([2, 3]),
  first_row: 2,
  domain: 'www.example.com',
  filename: 'urls.csv',
  ...{ address: 'http://proxy.example:8080', blob_key: `uploads/${JOB}`, currency: 'usd', date: DAY, status_code: 404 },
  total_urls: 2,
  completed_urls: 2,
  broken_urls: 1,
  credits_allocated: 2,
  batch_size: 10,
  from_index: 0,
  to_index: 2,
  ...{ amount_cents: 2_900, credits: 5_000, amount: 100, balance_after: 400, plan: 'pro', package_id: 'medium' },
  ...{ os: 'Linux', device_type: 'desktop', screen_size: '1920x1080', reason: null, text: 'New pricing page' },
  message: 'We move to a larger machine until 10:00.',
  name: 'Build server',
  prefix: 'uc_live_4f9a',
  delimiter: ',',
  properties: '{"page":"pricing"}',
  event: 'paywall_shown',
  error: null,
  block_type: 'legal',
  error_codes: ['451'],
  refused: null,
  key_hash: sha('key'),
  key: sha('key'),
};

function sha(of: string): string {
  return hash('sha256', of, 'hex');
}
function idOf(of: string): string {
  const hex = sha(of);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** With all fields, or without the optional ones. */
export function exampleOf(type: string, schema: AnySchema, is_whole: boolean): unknown {
  if (type === 'URLChecked') return checkedRange(is_whole);
  return sampleOf('', schema, is_whole);
}

function checkedRange(is_whole: boolean): unknown {
  const found = { redirect_chain: [], content_type: 'text/html', protection: null, attempts: 1, is_soft_404: false };
  const [ok, broken] = [
    { ...found, status_code: 200, final_url: URLS[0]!, is_broken: false, response_time_ms: 120, error_code: null },
    { ...found, status_code: 404, final_url: URLS[1]!, is_broken: true, response_time_ms: 80, error_code: null },
  ];
  const [first, last] = [
    { ...ok, verdict: 'ok' as const },
    { ...broken, verdict: 'broken' as const },
  ];
  // The whole one lacks the URL between them.
  return is_whole
    ? foldRange(JOB, 0, [URLS[0]!, '', URLS[1]!], [first, undefined, last])
    : foldRange(JOB, 0, URLS, [first, last]);
}

function sampleOf(name: string, schema: AnySchema, is_whole: boolean): unknown {
  if (schema.const !== undefined) return schema.const;
  const usual = VALUES[name];
  if (schema.enum) return schema.enum.includes(usual) ? usual : schema.enum[0];
  if (schema.anyOf) {
    const others = schema.anyOf.filter(({ type }) => type !== 'null');
    return !is_whole && others.length < schema.anyOf.length ? null : sampleOf(name, others[0]!, is_whole);
  }
  if (typeof usual === 'number' && schema.maximum === 0) return -usual;
  if (usual !== undefined && usual !== null && fits(usual, schema)) return usual;
  switch (schema.type) {
    case 'object':
      return objectOf(schema, is_whole);
    case 'array':
      return Array.from({ length: Math.max(1, schema.minItems ?? 0) }, () => sampleOf(name, schema.items!, is_whole));
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 0);
    case 'boolean':
      return true;
    case 'string':
      return textOf(name, schema);
    default:
      return null;
  }
}

function objectOf({ properties = {}, patternProperties, required = [] }: AnySchema, is_whole: boolean): object {
  const [record] = Object.values(patternProperties ?? {});
  if (record) return { 200: sampleOf('', record, is_whole) };
  const names = Object.keys(properties).filter((name) => is_whole || required.includes(name));
  return Object.fromEntries(names.map((name) => [name, sampleOf(name, properties[name]!, is_whole)]));
}

function textOf(name: string, { format, pattern }: AnySchema): string {
  if (format === 'date-time' || /_(at|start|end)$/.test(name)) return TIME;
  if (format === 'date') return TIME.slice(0, 'yyyy-mm-dd'.length);
  if (format === 'uuid' || /(^|_)id$|^adjustments$/.test(name)) return pattern === undefined ? idOf(name) : sha(name);
  if (pattern?.includes('0-9a-f')) return sha(name);
  if (name === 'fingerprint' || name === 'wrapped') return sha(name);
  if (name === 'reason') return 'Asked for by telephone';
  return name === 'email' ? 'alice@example.com' : `some ${name.replaceAll('_', ' ') || 'text'}`;
}

function fits(value: unknown, { type, pattern }: AnySchema): boolean {
  const of = Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value;
  return of === type && (pattern === undefined || new RegExp(pattern).test(String(value)));
}
