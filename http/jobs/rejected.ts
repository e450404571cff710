// Lists the texts of a job's list that became no URL to check, for the job's owner.

import type { Blobs } from '../../commands/blobs.ts';
import type { LeftOut } from '../../commands/jobs/intake.ts';
import { hasReason, leftOutLines, leftOutOf } from '../../commands/jobs/left-out.ts';
import { Nullable, type Static, Type } from '../../events/schema.ts';
import { INVALID_REASONS } from '../../intake/classify-url.ts';
import type { JobDocument } from '../../readmodels/jobs/jobs.ts';
import type { Paging } from '../../readmodels/pages.ts';
import { breather } from '../../time/event-loop.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { PUBLIC } from '../apis/public.ts';
import { HttpError } from '../frame/errors.ts';
import { type Reply, routeOf } from '../frame/route.ts';
import { listOf, listReply } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { cellsOf } from '../results/result-place.ts';
import { paging } from '../results/result-view.ts';

const wire = ({ blobs }: Parts) => ({ blobs });
type Deps = ReturnType<typeof wire>;

const REASONS: Readonly<Record<string, string>> = {
  duplicate: 'repeats the URL of an earlier row',
  blocked_domain: 'is of a domain on the blocklist',
  ...INVALID_REASONS,
};

const RejectedView = Type.Object(
  {
    row: Type.Integer({ minimum: 1, description: 'As in results.' }),
    cell: Nullable(Type.String({ description: 'As in results.' })),
    value: Type.String({ description: 'The text, shortened to 200 characters.' }),
    reason: Type.Enum(Object.keys(REASONS), { description: 'A code for programs.' }),
    message: Type.String({ description: 'What the reason means.' }),
    ref: Type.Optional(
      Type.String({ description: 'Your own name for the text, as you submitted it; absent without one.' }),
    ),
    duplicate_of_row: Nullable(Type.Integer({ minimum: 1, description: 'Where the URL stands that is checked.' })),
  },
  { $id: 'RejectedRow' },
);

const NOT_KEPT = 'The job is older than the record of rejected rows. Upload the file again, or analyze it.';

const RECORD_MISSING = 'The record of what the job left out is not there any more.';

/** What both APIs say of the route. */
const common = {
  id: 'listRejectedRows',
  method: 'GET',
  access: 'owner',
  heavy: true,
  of_results: true,
  summary: 'List the rows of a job that are not checked, each with its reason',
  description:
    'Duplicates, URLs of blocklisted domains and texts that are no valid URL, in the order of the list. A cell with several URLs may be ' +
    'there several times. Of a list with more than 64 MB of them, the rest is counted in the job alone.',
  query: Type.Object({
    ...paging(50),
    reason: Type.Optional(
      Type.Enum(Object.keys(REASONS), { type: 'string', description: 'Only rows with this reason.' }),
    ),
  }),
  responses: {
    200: listOf(
      'A page of rows.',
      RejectedView,
      {
        row: 17,
        cell: 'B17',
        value: 'see below',
        reason: 'several_words',
        message: INVALID_REASONS.several_words,
        duplicate_of_row: null,
      },
      50,
    ),
  },
  errors: {
    409: {
      description: 'The service kept no rows when it made the job, or has lost them.',
      examples: { not_kept: { message: NOT_KEPT }, record_missing: { message: RECORD_MISSING } },
    },
  },
  async handler({ job, query, signal }: Asked, { blobs }: Deps): Promise<Reply> {
    const count = job.duplicates_removed + job.invalid_urls_rejected + job.blocked_urls_skipped;
    if (count > 0 && job.first_row === undefined) throw new HttpError(409, 'not_kept', NOT_KEPT);
    const page = await pageOf(blobs, job._id, query, signal);
    if (count > 0 && !page.is_there) throw new HttpError(409, 'record_missing', RECORD_MISSING);
    return listReply(page, viewsOf(job), query);
  },
} as const;
type Asked = { job: JobDocument; query: Paging & { reason?: string }; signal: AbortSignal };

const rejected = routeOf<Deps>(GATEWAY, 'jobs')({ ...common, path: '/jobs/{job_id}/rejected' });
const rejectedOfKey = routeOf<Deps>(PUBLIC, 'jobs')({ ...common, path: '/jobs/{id}/rejected', job: 'id' });

function viewsOf(job: JobDocument): (entry: LeftOut) => Static<typeof RejectedView> {
  const cellOf = cellsOf(job);
  return ({ row, reason, value, first, ref }) => ({
    ...{ row, cell: cellOf(row), value, ...(ref !== undefined && { ref }), reason, message: REASONS[reason] ?? reason },
    duplicate_of_row: first?.row ?? null,
  });
}

/** Reads the whole record for the total, but parses the lines of the page alone. */
async function pageOf(
  blobs: Pick<Blobs, 'get'>,
  job_id: string,
  { limit, offset, reason }: Paging & { reason?: string },
  signal: AbortSignal,
): Promise<{ items: LeftOut[]; total: number; is_there: boolean }> {
  const breathe = breather();
  const items: LeftOut[] = [];
  let total = 0;
  let is_there = false;
  for await (const lines of leftOutLines(blobs, job_id)) {
    signal.throwIfAborted();
    is_there = true;
    await breathe();
    const wanted = reason === undefined ? lines : lines.filter((line) => hasReason(line, reason));
    const from = Math.max(0, offset - total);
    if (items.length < limit) items.push(...wanted.slice(from, from + limit - items.length).map(leftOutOf));
    total += wanted.length;
  }
  return { items, total, is_there };
}

export const group = groupOf(wire, [rejected, rejectedOfKey]);
